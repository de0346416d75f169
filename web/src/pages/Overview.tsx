import { Link } from "wouter";
import { useHealth, useReport } from "../api/queries.ts";
import type { Answer, MarginRow } from "../api/shapes.ts";
import { Attention } from "../components/Attention.tsx";
import { Freshness } from "../components/Freshness.tsx";
import { Icon } from "../components/Icon.tsx";
import { MarkerList } from "../components/MarkerList.tsx";
import { MarginRange, rangePosition } from "../components/MarginRange.tsx";
import { useRows } from "../components/rows.ts";
import { usePlace, type PlaceState } from "../components/place.ts";
import { ReportTools } from "../components/ReportTools.tsx";
import { zone } from "../components/settings.ts";
import { Failure, FirstTrace, Loading, NothingHere, Stale } from "../components/States.tsx";
import { Trend } from "../components/Trend.tsx";
import { windowOf, withFilter } from "../model/filters.ts";
import { againstLastWeek, attention, byMarginLeft, healthOf, marginLeft, missedOverall } from "../model/routes.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";
import { comparisonShort, windowLabel } from "../model/window.ts";

export function Overview() {
  const place = usePlace();
  const margin = useReport("margin", place.filters, place.window);
  const compared = useReport("margin", place.filters, place.compared);
  const data = useHealth().data?.data;
  if (data && data.hops === 0 && data.spans === 0) return <FirstTrace />;
  const rows = margin.data?.rows ?? [];
  return (
    <>
      <title>Overview · Laxity</title>
      <div className="page-head">
        <div>
          <h1>{margin.data ? attention(rows) || "No request in this time" : "Where time runs out"}</h1>
          {margin.data && <Facts report={margin.data} place={place} />}
        </div>
        <ReportTools name="margin" filters={{ ...place.filters, ...place.window }} />
      </div>
      {margin.data && <Stale error={margin.error} at={margin.dataUpdatedAt} retry={margin.refetch} />}
      {margin.isPending && <Loading what="the routes" rows={8} />}
      {margin.isError && !margin.data && <Failure error={margin.error} retry={margin.refetch} />}
      {margin.data && rows.length === 0 && <NothingHere place={place} names={["service", "route"]} newest={data?.newest_at ?? null}>Nothing was asked of any service.</NothingHere>}
      {margin.data && rows.length > 0 && (
        <div className={margin.isPlaceholderData ? "stack stale" : "stack"}>
          <Attention place={place} margin={margin.data} />
          <MarkerList place={place} />
          <Routes report={margin.data} before={place.compared && !compared.isPlaceholderData ? compared.data?.rows : undefined} place={place} />
        </div>
      )}
    </>
  );
}

function Facts({ report, place }: { report: Answer<MarginRow>; place: PlaceState }) {
  const shown = zone.use();
  const requests = report.rows.reduce((sum, row) => sum + row.requests, 0);
  const missed = missedOverall(report.rows);
  // Margins are read as they arrive; orphan work and the other findings of this page wait for a worker.
  const judged = useReport("orphans", {}, place.window).data?.watermark;
  return (
    <p className="facts small">
      <span>{windowLabel(place.window, shown)}</span>
      {place.compared && <span>against {comparisonShort[place.comparison]}</span>}
      <span><b>{formatCount(requests)}</b> requests</span>
      {missed !== null && <span><b>{formatRatio(missed)}</b> of those with a budget missed</span>}
      <Freshness watermark={report.watermark} provisional={report.rows.some((row) => row.provisional)} judged={judged} />
    </p>
  );
}

const axis = [-0.5, 0, 0.5, 1];

function Routes({ report, before, place }: { report: Answer<MarginRow>; before: readonly MarginRow[] | undefined; place: PlaceState }) {
  const rows = byMarginLeft(report.rows);
  const [current, body] = useRows(rows.length, (i) => rows[i] && routePath(rows[i], place));
  return (
    <section className="panel routes" aria-label="Routes by margin left">
      <table>
        <thead>
          <tr>
            <th scope="col" className="route-head">Routes that miss first, then the least margin</th>
            <th scope="col" className="range-cell">
              Margin left, share of the budget
              <span className="margin-axis small" aria-hidden="true">
                {axis.map((share) => <span key={share} style={{ left: `${rangePosition(share)}%` }}>{share === 0 ? "0" : `${share < 0 ? "−" : ""}${Math.abs(share * 100)} %`}</span>)}
              </span>
            </th>
            <th scope="col" className="num">p05</th>
            <th scope="col" className="num">Median</th>
            <th scope="col" className="num">Budget</th>
            <th scope="col" className="num">Missed</th>
            <th scope="col" className="num">Requests</th>
            <th scope="col">Margin over time</th>
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, i) => (
            <RouteRow key={`${row.service} ${row.route}`} row={row} report={report} place={place} current={i === current} before={before && (before.find((one) => one.service === row.service && one.route === row.route) ?? null)} />
          ))}
        </tbody>
      </table>
      <div className="legend" aria-hidden="true">
        <span><i style={{ background: "var(--accent)", opacity: 0.55 }} /> 5th to 95th percentile of the margin</span>
        <span><i style={{ background: "var(--bad)" }} /> the same, past the deadline; below the trend: missed requests</span>
        <span><i style={{ background: "var(--ink)", width: 3, height: 14 }} /> median</span>
      </div>
    </section>
  );
}

const verdicts = {
  late: { icon: "error", tone: "bad", word: "runs out of time" },
  missing: { icon: "error", tone: "bad", word: "misses its deadline" },
  tight: { icon: "warn", tone: "warn", word: "tight" },
  fine: { icon: "good", tone: "good", word: "fine" },
  unknown: { icon: "info", tone: "quiet", word: "no budget" },
} as const;

function routePath(row: MarginRow, place: PlaceState): string {
  return `/route?${withFilter(windowOf(place.query), { service: row.service, route: row.route })}`;
}

interface RowProps {
  row: MarginRow;
  report: Answer<MarginRow>;
  place: PlaceState;
  current: boolean;
  /** The same route in the window held against; null if it had no request there, undefined if there is no such window. */
  before: MarginRow | null | undefined;
}

function RouteRow({ row, report, place, current, before }: RowProps) {
  const verdict = verdicts[healthOf(row)];
  const left = marginLeft(row);
  const was = (value: string | undefined) => (before === undefined ? "" : before === null ? "new" : `was ${value ?? "–"}`);
  return (
    <tr className={current ? "current" : undefined} aria-current={current || undefined}>
      <td className="route">
        <Link href={routePath(row, place)}><bdi>{row.route || "unnamed"}</bdi></Link>
        <div className="service"><bdi>{row.service}</bdi> · <span className={verdict.tone}><Icon name={verdict.icon} /> {verdict.word}</span></div>
      </td>
      <td className="range-cell"><MarginRange row={row} /></td>
      <td className={`num${(row.margin_p05_s ?? 0) < 0 ? " bad" : ""}`} data-label="p05">
        {formatSeconds(row.margin_p05_s)}
        <span className="below">{was(formatSeconds(before?.margin_p05_s)) || (left === null ? "" : formatRatio(left))}</span>
      </td>
      <td className={`num${(row.margin_p50_s ?? 0) < 0 ? " bad" : ""}`} data-label="Median">{formatSeconds(row.margin_p50_s)}<span className="below">{was(formatSeconds(before?.margin_p50_s))}</span></td>
      <td className="num" data-label="Budget">{formatSeconds(row.budget_p50_s)}<span className="below">{was(formatSeconds(before?.budget_p50_s))}</span></td>
      <td className={`num${(row.missed_ratio ?? 0) >= 0.01 ? " bad" : ""}`} data-label="Missed">
        {formatRatio(row.missed_ratio)}
        <span className="below">{was(formatRatio(before?.missed_ratio)) || againstLastWeek(row)}</span>
      </td>
      <td className="num" data-label="Requests">{formatCount(row.requests)}<span className="below">{was(before ? formatCount(before.requests) : undefined)}</span></td>
      <td className="trend-cell"><Trend buckets={row.buckets} window={report.window} /></td>
    </tr>
  );
}
