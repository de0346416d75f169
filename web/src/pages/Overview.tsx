import { Link, useSearchParams } from "wouter";
import { useHealth, useMargin } from "../api/queries.ts";
import type { MarginReport, MarginRow } from "../api/shapes.ts";
import { Freshness } from "../components/Freshness.tsx";
import { Icon } from "../components/Icon.tsx";
import { MarginRange, rangePosition } from "../components/MarginRange.tsx";
import { Empty, Failure, FirstTrace, Loading, Stale } from "../components/States.tsx";
import { TimeRange } from "../components/TimeRange.tsx";
import { Trend } from "../components/Trend.tsx";
import { readFilters, searchPath, windowLabel, windowOf } from "../model/filters.ts";
import { againstLastWeek, attention, byMarginLeft, healthOf, marginLeft, missedOverall } from "../model/routes.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";

export function Overview() {
  const [query] = useSearchParams();
  const filters = readFilters(query);
  const margin = useMargin(filters);
  const health = useHealth();
  const data = health.data?.data;
  if (data && data.hops === 0 && data.spans === 0) return <FirstTrace />;
  return (
    <>
      <title>Overview · Laxity</title>
      <div className="page-head">
        <div>
          <h1>{margin.data ? attention(margin.data.rows) || "No request in this time" : "Where time runs out"}</h1>
          {margin.data && <Facts report={margin.data} label={windowLabel(filters["from"] ?? "", filters["to"] ?? "")} />}
        </div>
        <TimeRange />
      </div>
      {margin.data && <Stale error={margin.error} at={margin.dataUpdatedAt} retry={margin.refetch} />}
      {margin.isPending && <Loading what="the routes" rows={8} />}
      {margin.isError && !margin.data && <Failure error={margin.error} retry={margin.refetch} />}
      {margin.data && (margin.data.rows.length > 0
        ? <Routes report={margin.data} query={query} faded={margin.isPlaceholderData} />
        : <NothingHere newest={data?.newest_at ?? null} />)}
    </>
  );
}

function Facts({ report, label }: { report: MarginReport; label: string }) {
  const requests = report.rows.reduce((sum, row) => sum + row.requests, 0);
  const missed = missedOverall(report.rows);
  return (
    <p className="facts small">
      <span>{label}</span>
      <span><b>{formatCount(requests)}</b> requests</span>
      {missed !== null && <span><b>{formatRatio(missed)}</b> of those with a budget missed</span>}
      <Freshness watermark={report.watermark} provisional={report.rows.some((row) => row.provisional)} />
    </p>
  );
}

function NothingHere({ newest }: { newest: string | null }) {
  return (
    <Empty title="No request in this time">
      {newest && <p className="quiet">The newest span started at {newest.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC")}. Imported traces keep the time at which they were recorded.</p>}
      <div className="actions"><Link className="button primary" href="/?from=1970-01-01T00:00:00Z">Show all time</Link></div>
    </Empty>
  );
}

const axis = [-0.5, 0, 0.5, 1];

function Routes({ report, query, faded }: { report: MarginReport; query: URLSearchParams; faded: boolean }) {
  return (
    <section className={`panel routes${faded ? " stale" : ""}`} aria-label="Routes by margin left">
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
        <tbody>
          {byMarginLeft(report.rows).map((row) => <RouteRow key={`${row.service} ${row.route}`} row={row} report={report} query={query} />)}
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

function RouteRow({ row, report, query }: { row: MarginRow; report: MarginReport; query: URLSearchParams }) {
  const verdict = verdicts[healthOf(row)];
  const left = marginLeft(row);
  return (
    <tr>
      <td className="route">
        <Link href={searchPath({ service: row.service, route: row.route }, windowOf(query))}><bdi>{row.route || "unnamed"}</bdi></Link>
        <div className="service"><bdi>{row.service}</bdi> · <span className={verdict.tone}><Icon name={verdict.icon} /> {verdict.word}</span></div>
      </td>
      <td className="range-cell"><MarginRange row={row} /></td>
      <td className={`num${(row.margin_p05_s ?? 0) < 0 ? " bad" : ""}`} data-label="p05">
        {formatSeconds(row.margin_p05_s)}
        <span className="below">{left === null ? "" : `${left < 0 ? "−" : ""}${formatRatio(Math.abs(left))}`}</span>
      </td>
      <td className={`num${(row.margin_p50_s ?? 0) < 0 ? " bad" : ""}`} data-label="Median">{formatSeconds(row.margin_p50_s)}</td>
      <td className="num" data-label="Budget">{formatSeconds(row.budget_p50_s)}</td>
      <td className={`num${(row.missed_ratio ?? 0) >= 0.01 ? " bad" : ""}`} data-label="Missed">
        {formatRatio(row.missed_ratio)}
        <span className="below">{againstLastWeek(row)}</span>
      </td>
      <td className="num" data-label="Requests">{formatCount(row.requests)}</td>
      <td className="trend-cell"><Trend buckets={row.buckets} window={report.window} /></td>
    </tr>
  );
}
