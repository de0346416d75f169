import { hasToken } from "../api/client.ts";
import { useAdvice, usePolicyFile } from "../api/queries.ts";
import type { AdviceRow, RouteAdvice } from "../api/shapes.ts";
import { callOf, type Column } from "../components/columns.tsx";
import { CopyButton } from "../components/CopyButton.tsx";
import { FilterBar } from "../components/FilterBar.tsx";
import { Freshness } from "../components/Freshness.tsx";
import { Icon } from "../components/Icon.tsx";
import { usePlace, type PlaceState } from "../components/place.ts";
import { ReportTable } from "../components/ReportTable.tsx";
import { save } from "../components/ReportTools.tsx";
import { zone } from "../components/settings.ts";
import { Failure, Loading, NothingHere, Stale } from "../components/States.tsx";
import { adviceSentence, moved, policyCommand, rates, termNames, terms, usualRate, type Term } from "../model/advice.ts";
import { toCSV } from "../model/csv.ts";
import type { ExcludedName } from "../model/exclusions.ts";
import { searchPath, windowOf, withFilter, type FilterName } from "../model/filters.ts";
import { curlOf, type Asked } from "../model/reports.ts";
import { formatRatio, formatSeconds } from "../model/seconds.ts";
import { windowLabel } from "../model/window.ts";

const filterNames = ["service", "route", "stage", "peer"] as const satisfies readonly (FilterName & ExcludedName)[];
const file = "laxity-policy.json";

/** What each dependency needs, as the policy file that the sdk loads, and the budget that each route needs. */
export function Advice() {
  const place = usePlace();
  const shown = zone.use();
  const rate = place.query.get("rate") || usualRate;
  const params = Object.fromEntries([
    ...Object.entries(place.window), ...filterNames.map((name) => [name, place.filters[name] ?? ""] as const), ["false_timeout_rate", rate] as const,
    ...filterNames.map((name) => [`not.${name}`, place.without[`not.${name}`] ?? ""] as const),
  ].filter(([, value]) => value));
  const advice = useAdvice(params);
  const answer = advice.data;
  const enough = answer?.rows.filter((row) => row.enough) ?? [];
  return (
    <>
      <title>Advice · Laxity</title>
      <div className="page-head">
        <div>
          <p className="kicker">Advice</p>
          <h1>{answer ? adviceSentence(answer) : "What dependencies need"}</h1>
          <p className="facts small">
            <span>{windowLabel(place.window, shown)}</span>
            {answer && <Freshness watermark={answer.watermark} provisional={answer.provisional} />}
          </p>
        </div>
        <div className="report-tools">
          {answer && <button type="button" className="button" onClick={() => save("laxity-advice.csv", toCSV(answer.rows))} title="Every row, under the names of the API"><Icon name="download" />CSV</button>}
          <CopyButton label="curl" text={() => curlOf(window.location.origin, "/policies/advice", params, hasToken())} />
        </div>
      </div>
      <FilterBar names={filterNames} leaves={filterNames} place={place}>
        <label>
          <span aria-hidden="true" title="Good calls that a limit may cut">May cut</span>
          <select aria-label="Good calls that a limit may cut" value={rate} onChange={(event) => place.change({ rate: event.target.value === usualRate ? "" : event.target.value })}>
            {[...new Set([...rates, rate])].map((one) => <option key={one} value={one}>{formatRatio(Number(one))}</option>)}
          </select>
        </label>
      </FilterBar>
      {answer && <Stale error={advice.error} at={advice.dataUpdatedAt} retry={advice.refetch} />}
      {advice.isPending && <Loading what="advice" rows={10} />}
      {advice.isError && !answer && <Failure error={advice.error} retry={advice.refetch} />}
      {answer && answer.rows.length === 0 && <NothingHere place={place} names={filterNames} leaves={filterNames} newest={null}>No call was measured in this time.</NothingHere>}
      {answer && answer.rows.length > 0 && (
        <div className={advice.isPlaceholderData ? "stack stale" : "stack"}>
          {enough.length > 0 && <PolicyFile params={params} rate={rate} place={place} />}
          <section className="panel" aria-label="Dependencies, table">
            <ReportTable name="Dependencies, table" rows={answer.rows} columns={columns} keyOf={(row) => [row.service, row.stage, row.peer].join(" ")} leaves={filterNames} pathOf={(row) => callsOf(row, place)} place={place} />
          </section>
          {answer.routes.length > 0 && (
            <section className="panel" aria-label="Routes, table">
              <h2 className="panel-title">Budgets that routes need</h2>
              <ReportTable name="Routes, table" rows={answer.routes} columns={routeColumns} keyOf={(row) => `${row.service} ${row.route}`} leaves={filterNames} pathOf={(row) => `/route?${withFilter(windowOf(place.query), { service: row.service, route: row.route })}`} place={place} />
            </section>
          )}
        </div>
      )}
    </>
  );
}

function callsOf(row: AdviceRow, place: PlaceState): string {
  return searchPath({ service: row.service, stage: row.stage }, windowOf(place.query));
}

const term = (name: Term): Column<AdviceRow> => ({
  key: name, label: termNames[name].label, means: termNames[name].means, format: "seconds", value: (row) => row.advised[`${name}_s`],
  cell: (row) => {
    const now = row.current[`${name}_s`];
    return <span title={row.reasons[name]}>{formatSeconds(row.advised[`${name}_s`])}<span className="below">{now === null ? "none now" : `now ${formatSeconds(now)}`}</span></span>;
  },
  tone: (row) => (moved(row).includes(name) && row.current[`${name}_s`] !== null ? "warn" : ""),
});

const columns: Column<AdviceRow>[] = [
  { key: "stage", label: "Dependency", value: (row) => row.stage || row.peer, cell: (row) => <bdi>{row.stage || row.peer || "unnamed"}</bdi>, part: callOf, below: (row) => [{ filter: "service", value: row.service }] },
  { key: "peer", label: "Called service", value: (row) => row.peer, part: (row) => ({ filter: "peer", value: row.peer }) },
  { key: "calls", label: "Calls", value: (row) => row.calls, format: "count" },
  { key: "cut", label: "Cut", means: "ended by time", value: (row) => row.cut, format: "count", tone: (row) => (row.cut > 0 ? "warn" : "") },
  { key: "latency_p50_s", label: "Took, median", value: (row) => row.latency_p50_s, format: "seconds" },
  { key: "tail_s", label: "Tail", means: "what all but the accepted share took", value: (row) => row.tail_s, format: "seconds" },
  ...terms.map(term),
  { key: "why", label: "Why", value: (row) => row.reasons.observed_limit, cell: (row) => <Why row={row} />, wide: true },
];

function Why({ row }: { row: AdviceRow }) {
  if (!row.enough) return <span className="quiet">{row.reasons.observed_limit}</span>;
  return (
    <details>
      <summary>Reasons</summary>
      <dl className="reasons small">{terms.map((name) => <div key={name}><dt>{termNames[name].label}</dt><dd>{row.reasons[name]}</dd></div>)}</dl>
    </details>
  );
}

const routeColumns: Column<RouteAdvice>[] = [
  { key: "route", label: "Route", value: (row) => row.route, cell: (row) => <bdi>{row.route || "unnamed"}</bdi>, part: (row) => ({ filter: "route", value: row.route }), below: (row) => [{ filter: "service", value: row.service }] },
  { key: "requests", label: "Requests", value: (row) => row.requests, format: "count" },
  { key: "exhausted_ratio", label: "Ran out of time", value: (row) => row.exhausted_ratio, format: "ratio", tone: (row) => ((row.exhausted_ratio ?? 0) >= 0.01 ? "bad" : "") },
  { key: "spent_p50_s", label: "Spent, median", value: (row) => row.spent_p50_s, format: "seconds" },
  { key: "budget_p50_s", label: "Budget now", means: "median granted", value: (row) => row.budget_p50_s, format: "seconds" },
  { key: "safe_budget_s", label: "Safe budget", means: "all but the accepted share of requests would have been answered in it", value: (row) => row.safe_budget_s, format: "seconds", tone: (row) => (row.safe_budget_s !== null && row.budget_p50_s !== null && row.safe_budget_s > row.budget_p50_s ? "bad" : "") },
  { key: "reason", label: "Why", value: (row) => row.reason, cell: (row) => <span className="quiet">{row.reason}</span>, wide: true },
];

/** The file itself, and the ways to get it where services load it. */
function PolicyFile({ params, rate, place }: { params: Asked; rate: string; place: PlaceState }) {
  const written = usePolicyFile(params);
  const command = policyCommand({ ...place.filters, ...place.window }, place.exclusions.filter(({ name }) => filterNames.some((one) => one === name)), rate);
  return (
    <section className="panel block" aria-label="Policy file">
      <div className="block-head">
        <h2>The policy file</h2>
        {written.data && (
          <div className="report-tools">
            <button type="button" className="button primary" onClick={() => save(file, written.data)}><Icon name="download" />{file}</button>
            <CopyButton label="Copy" text={() => written.data} />
          </div>
        )}
      </div>
      <p>Services load it with <code>budget.LoadLimits("{file}", "SERVICE")</code>. The command writes the same file, keeps what was not asked about, and tells with <code>--dry-run</code> what would change:</p>
      <div className="command"><pre tabIndex={0} role="region" aria-label="Command">{command}</pre><CopyButton label="Copy the command" text={() => command} iconOnly /></div>
      {written.isPending && <p className="quiet small pending">Writing it …</p>}
      {written.isError && <p className="quiet">This could not be read: {written.error.message}</p>}
      {written.data && <details><summary>Show the file</summary><pre className="file" tabIndex={0} role="region" aria-label={file}>{written.data}</pre></details>}
    </section>
  );
}
