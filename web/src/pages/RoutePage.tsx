import { Link, useLocation } from "wouter";
import { useAttribution, useCells, useMarkers, useReport } from "../api/queries.ts";
import type { Answer, MarginRow, SpendRow, StageRow } from "../api/shapes.ts";
import { ChangeWaterfall } from "../charts/ChangeWaterfall.tsx";
import { HeatMap } from "../charts/HeatMap.tsx";
import { SpendBars } from "../charts/SpendBars.tsx";
import { TimeChart } from "../charts/TimeChart.tsx";
import type { Column } from "../components/columns.tsx";
import { Counts } from "../components/Counts.tsx";
import { Freshness } from "../components/Freshness.tsx";
import { markerName } from "../components/MarkerList.tsx";
import { NearRoutes } from "../components/NearRoutes.tsx";
import { usePlace, type PlaceState } from "../components/place.ts";
import { ReportTable } from "../components/ReportTable.tsx";
import { ReportTools } from "../components/ReportTools.tsx";
import { zone } from "../components/settings.ts";
import { Empty, Failure, Loading, NothingHere, Stale } from "../components/States.tsx";
import { changeSentence } from "../model/changes.ts";
import { forecast, grown } from "../model/concerns.ts";
import { searchPath, windowOf, withFilter } from "../model/filters.ts";
import { filtersOf, heatOf, type Cell } from "../model/heat.ts";
import { growth, marginSeries, missedSeries, routeSentence, spendOf, spendSeries, type Spend } from "../model/route.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";
import { comparedWindow, comparisonShort, millis, windowLabel } from "../model/window.ts";

/** One route: what it has left over time, what takes it, and what grew. */
export function RoutePage() {
  const place = usePlace();
  const shown = zone.use();
  const { service = "", route = "" } = place.filters;
  const margin = useReport("margin", place.filters, place.window);
  const compared = useReport("margin", place.filters, place.compared);
  if (!service && !route) return <NoRoute />;
  const row = margin.data?.rows.find((one) => one.service === service && one.route === route);
  const before = place.compared && !compared.isPlaceholderData ? compared.data?.rows.find((one) => one.service === service && one.route === route) : undefined;
  const to = (path: string, filters: Record<string, string> = {}) => `${path}?${withFilter(windowOf(place.query), { service, route, ...filters })}`;
  return (
    <>
      <title>{`${service} ${route} · Laxity`}</title>
      <div className="page-head">
        <div>
          <p className="kicker">Route of <bdi>{service}</bdi></p>
          <h1><bdi>{route || "unnamed"}</bdi></h1>
          {row && <p>{routeSentence(row)}{row.trend?.significant && ` It ${forecast(row)}.${grown(row)}`}</p>}
          <p className="facts small">
            <span>{windowLabel(place.window, shown)}</span>
            {place.compared && <span>against {comparisonShort[place.comparison]}</span>}
            {margin.data && <Freshness watermark={margin.data.watermark} provisional={row?.provisional ?? false} />}
          </p>
        </div>
        <div className="actions">
          <Link className="button primary" href={to("/search")}>Traces</Link>
          <Link className="button" href={to("/search", { class: "late_or_failed" })}>Late or failed</Link>
          <Link className="button" href={to("/findings")}>Findings</Link>
          <ReportTools name="margin" filters={{ ...place.filters, ...place.window }} />
        </div>
      </div>
      {margin.data && <Stale error={margin.error} at={margin.dataUpdatedAt} retry={margin.refetch} />}
      {margin.isPending && <Loading what="the route" rows={12} />}
      {margin.isError && !margin.data && <Failure error={margin.error} retry={margin.refetch} />}
      {margin.data && !row && <NothingHere place={place} names={[]} newest={null}>This route had no request in this time.</NothingHere>}
      {margin.data && !row && <NearRoutes service={service} route={route} place={place} />}
      {margin.data && row && (
        <div className={margin.isPlaceholderData ? "stack stale" : "stack"}>
          <Figures row={row} before={before} />
          <Margin row={row} answer={margin.data} before={before} beforeAnswer={compared.data} place={place} />
          <Spending row={row} place={place} />
          <Moved row={row} place={place} />
        </div>
      )}
    </>
  );
}

function NoRoute() {
  return <Empty title="Which route?"><p>Choose one on the <Link href="/">overview</Link>, or press <kbd>/</kbd> and type a part of its name.</p></Empty>;
}

function Figures({ row, before }: { row: MarginRow; before: MarginRow | undefined }) {
  const week = row.week_ago;
  const was = (now: number | null, then: number | null | undefined, text: (value: number | null) => string) =>
    then === undefined || then === null || now === null ? null : <span className="quiet"> was {text(then)}</span>;
  const missed = before?.missed_ratio ?? week?.missed_ratio;
  return (
    <dl className="figures">
      <div><dt>Requests{was(row.requests, before?.requests ?? week?.requests, (value) => formatCount(value ?? 0))}</dt><dd>{formatCount(row.requests)}</dd></div>
      <div><dt>Missed{was(row.missed_ratio, missed, formatRatio)}</dt><dd className={(row.missed_ratio ?? 0) >= 0.01 ? "bad" : undefined}>{formatRatio(row.missed_ratio)}</dd></div>
      <div><dt>Margin, p05{was(row.margin_p05_s, before?.margin_p05_s ?? week?.margin_p05_s, formatSeconds)}</dt><dd className={(row.margin_p05_s ?? 0) < 0 ? "bad" : undefined}>{formatSeconds(row.margin_p05_s)}</dd></div>
      <div><dt>Margin, median{was(row.margin_p50_s, before?.margin_p50_s ?? week?.margin_p50_s, formatSeconds)}</dt><dd>{formatSeconds(row.margin_p50_s)}</dd></div>
      <div><dt>Budget, median{was(row.budget_p50_s, before?.budget_p50_s, formatSeconds)}</dt><dd>{formatSeconds(row.budget_p50_s)}</dd></div>
    </dl>
  );
}

interface MarginProps {
  row: MarginRow;
  answer: Answer<MarginRow>;
  before: MarginRow | undefined;
  beforeAnswer: Answer<MarginRow> | undefined;
  place: PlaceState;
}

function Margin({ row, answer, before, beforeAnswer, place }: MarginProps) {
  const step = (answer.window.bucket_s ?? 60) * 1000;
  const span = { from: Math.min(millis(answer.window.from), ...row.buckets.map((bucket) => millis(bucket.at))), to: millis(answer.window.to) };
  const offset = before && beforeAnswer ? millis(answer.window.from) - millis(beforeAnswer.window.from) : 0;
  const zoom = ({ from, to }: { from: number; to: number }) => place.change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });
  const label = comparisonShort[place.comparison];
  const [, navigate] = useLocation();
  const markers = useMarkers(place.window, row.service).data?.rows ?? [];
  const marks = { marks: markers.map((marker) => ({ id: marker.id, at: millis(marker.at), label: markerName(marker) })), pickMark: ({ id }: { id: string }) => navigate(`/changes?${withFilter(windowOf(place.query), { marker: id, service: row.service, route: row.route })}`) };
  return (
    <div className="stack">
      <section className="panel block" aria-label="Margin over time">
        <h2>Margin over time</h2>
        {row.margin_p50_s === null
          ? <p className="quiet">No request with a budget was answered, so there is no margin to draw.</p>
          : <TimeChart label={`Margin of ${row.service} ${row.route}: the slow requests have ${formatSeconds(row.margin_p05_s)} left`} span={span} step={step} height={280} signed series={marginSeries(row, before, offset, label)} format={(value) => formatSeconds(value)} zoom={zoom} {...marks} limit={row.budget_p50_s === null ? undefined : { value: row.budget_p50_s, label: "Budget, median" }} />}
      </section>
      <Spread row={row} place={place} />
      <section className="panel block" aria-label="Missed requests">
        <h2>Missed requests, share of those with a budget</h2>
        <TimeChart label={`Missed requests: ${formatRatio(row.missed_ratio)} in all`} span={span} step={step} height={130} series={missedSeries(row, before, offset, label)} format={(value) => formatRatio(value)} zoom={zoom} />
      </section>
    </div>
  );
}

/** All requests by time and margin, or by how long they took; a cell leads to the traces in it. */
function Spread({ row, place }: { row: MarginRow; place: PlaceState }) {
  const measure = place.query.get("measure") === "duration" || row.margin_p50_s === null ? "duration" : "margin";
  const filters = { ...place.window, service: row.service, route: row.route, measure };
  const cells = useCells(filters);
  const heat = cells.data ? heatOf(cells.data) : null;
  const pathOf = (cell: Cell) => cell.seen === 1 && cell.example_trace_ids[0]
    ? `/traces/${cell.example_trace_ids[0]}`
    : searchPath({ service: row.service, route: row.route, ...filtersOf(cell, cells.data?.measure ?? measure) }, windowOf(place.query));
  return (
    <section className="panel block" aria-label="Requests by margin">
      <div className="block-head">
        <h2>{heat ? formatCount(heat.total) : "All"} requests by {measure === "margin" ? "margin" : "how long they took"}</h2>
        {row.margin_p50_s !== null && (
          <span className="segmented" role="group" aria-label="Draw by">
            <button type="button" className="button" aria-pressed={measure === "margin"} onClick={() => place.change({ measure: "" })}>Margin</button>
            <button type="button" className="button" aria-pressed={measure === "duration"} onClick={() => place.change({ measure: "duration" })}>Duration</button>
          </span>
        )}
        <ReportTools name="cells" filters={filters} />
      </div>
      {cells.isPending && <p className="quiet small pending">Counting them …</p>}
      {cells.isError && !cells.data && <p className="quiet">This could not be read: {cells.error.message}</p>}
      {cells.data && !heat && <p className="quiet">None of them is judged yet; a worker does it within a minute.</p>}
      {heat && <div className={cells.isPlaceholderData ? "stale" : undefined}><HeatMap heat={heat} pathOf={pathOf} /></div>}
    </section>
  );
}

/** What moved the margin since the window held against, part by part. */
function Moved({ row, place }: { row: MarginRow; place: PlaceState }) {
  const held = place.compared ?? comparedWindow(place.window, "week");
  const changes = useAttribution({ ...place.window, before_from: held?.from ?? "", before_to: held?.to ?? "", service: row.service, route: row.route }, held !== null);
  const found = changes.data?.rows.find((one) => one.service === row.service && one.route === row.route);
  const against = place.compared ? comparisonShort[place.comparison] : "a week earlier";
  return (
    <section className="panel block" aria-label="Why the margin moved">
      <h2>Why the margin moved, against {against}</h2>
      {held === null && <p className="quiet">All time has no earlier window to be held against.</p>}
      {held !== null && changes.isPending && <p className="quiet small pending">Looking at what moved it …</p>}
      {changes.isError && <p className="quiet">This could not be read: {changes.error.message}</p>}
      {changes.data && !found && <p className="quiet">No account of this route is judged in both windows yet.</p>}
      {found && <p>{changeSentence(found)}</p>}
      {found && <ChangeWaterfall row={found} />}
    </section>
  );
}

const stageColumns: Column<StageRow>[] = [
  { key: "stage", label: "Stage", value: (row) => row.stage || row.peer, cell: (row) => <><bdi>{row.stage || row.peer || "unnamed"}</bdi>{row.peer && row.peer !== row.stage && <span className="below">calls <bdi>{row.peer}</bdi></span>}</> },
  { key: "calls", label: "Calls", value: (row) => row.calls, format: "count", compares: true },
  { key: "spend_p50_s", label: "Spend, median", value: (row) => row.spend_p50_s, format: "seconds", compares: true },
  { key: "spend_p95_s", label: "p95", value: (row) => row.spend_p95_s, format: "seconds", compares: true },
  { key: "degraded_ratio", label: "Did not run as meant", value: (row) => row.degraded_ratio, format: "ratio", tone: (row) => (row.degraded > 0 ? "warn" : ""), compares: true },
  { key: "decisions", label: "Decisions", value: (row) => row.degraded, cell: (row) => <Counts counts={row.decisions} leave="run" />, wide: true },
  { key: "phases", label: "Timed out in", value: (row) => Object.values(row.phases).reduce((a, b) => a + b, 0), cell: (row) => <Counts counts={row.phases} />, wide: true },
];

const stageKey = (row: StageRow) => `${row.stage} ${row.peer}`;

function Spending({ row, place }: { row: MarginRow; place: PlaceState }) {
  const filters = { service: row.service, route: row.route };
  const held = place.compared ?? comparedWindow(place.window, "week");
  const heldLabel = place.compared ? comparisonShort[place.comparison] : "a week earlier";
  const spend = useReport("spend", filters, place.window);
  const spentBefore = useReport("spend", filters, held);
  const stages = useReport("stages", filters, place.window);
  const earlier = useReport("stages", filters, place.compared);
  const now = spend.data && spend.data.rows.length > 0 ? spendOf(spend.data.rows) : null;
  const then = spentBefore.data && spentBefore.data.rows.length > 0 ? spendOf(spentBefore.data.rows) : null;
  return (
    <>
      <section className="panel block" aria-label="Spend per stage">
        <div className="block-head">
          <h2>Mean spend of an answered request by stage, against the budget</h2>
          <ReportTools name="spend" filters={{ ...filters, ...place.window }} />
        </div>
        {spend.isPending && <p className="quiet small pending">Adding up what they spent …</p>}
        {spend.isError && !spend.data && <p className="quiet">This could not be read: {spend.error.message}</p>}
        {spend.data && !now && <p className="quiet">No answered request with a budget is judged in this time.</p>}
        {spend.data && now && <SpendOverTime answer={spend.data} now={now} place={place} />}
        {now && <SpendBars rows={[{ label: "now", spend: now }, ...(then ? [{ label: heldLabel, spend: then }] : [])]} />}
        {now && (held !== null && spentBefore.isPending ? <p className="quiet small pending">Looking at {heldLabel} …</p> : <Grew now={now} then={then} label={heldLabel} />)}
      </section>
      {stages.isPending && <Loading what="the stages" rows={6} />}
      {stages.isError && !stages.data && <Failure error={stages.error} retry={stages.refetch} />}
      {stages.data && stages.data.rows.length > 0 && (
        <section className="panel" aria-label="Stages, table">
          <ReportTable
            name="Stages, table" rows={stages.data.rows} columns={stageColumns} keyOf={stageKey} place={place} pathOf={(one) => searchPath({ ...filters, stage: one.stage }, windowOf(place.query))}
            before={place.compared && earlier.data ? new Map(earlier.data.rows.map((one) => [stageKey(one), one])) : undefined} beforeLabel={heldLabel}
          />
        </section>
      )}
    </>
  );
}

function SpendOverTime({ answer, now, place }: { answer: Answer<SpendRow>; now: Spend; place: PlaceState }) {
  const begin = millis(answer.window.from);
  const first = answer.rows[0]?.buckets[0] ? millis(answer.rows[0].buckets[0].at) : begin;
  const span = { from: begin > 0 ? Math.min(begin, first) : first, to: millis(answer.window.to) };
  const [most] = now.parts;
  return (
    <TimeChart
      label={`Spend by stage${most ? `: most of it ${most.label}, ${formatSeconds(most.seconds)} of ${formatSeconds(now.budget)}` : ""}`} span={span} step={(answer.window.bucket_s ?? 60) * 1000} height={240} legend={false}
      series={spendSeries(answer.rows)} format={(value) => formatSeconds(value)} zoom={({ from, to }) => place.change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })}
    />
  );
}

function Grew({ now, then, label }: { now: Spend; then: Spend | null; label: string }) {
  if (!then) return <p className="quiet small">There is nothing to hold it against: no request {label}.</p>;
  const grown = growth(now, then);
  if (grown.length === 0) return <p className="quiet">Nothing takes noticeably more time than {label}.</p>;
  return (
    <p>
      What grew since {label}: {grown.slice(0, 4).map((one, i) => <span key={one.key}>{i > 0 && ", "}<b><bdi>{one.label}</bdi></b> by {formatSeconds(one.by)}</span>)}.
    </p>
  );
}
