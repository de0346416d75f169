import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useHealth, useSearch } from "../api/queries.ts";
import type { TraceRow } from "../api/shapes.ts";
import { Facets } from "../components/Facets.tsx";
import { Freshness } from "../components/Freshness.tsx";
import { Icon } from "../components/Icon.tsx";
import { Narrow } from "../components/Narrow.tsx";
import { Outcome } from "../components/Outcome.tsx";
import { SearchTools } from "../components/SearchTools.tsx";
import { useRows } from "../components/rows.ts";
import { zone } from "../components/settings.ts";
import { Spent } from "../components/Spent.tsx";
import { Empty, Failure, FirstTrace, Loading, Stale } from "../components/States.tsx";
import { parametersOf, readExclusions, toggleExclusion, withoutExclusions, type Exclusion } from "../model/exclusions.ts";
import { filterText } from "../model/filterText.ts";
import { filterNames, readFilters, withFilter, type Filters } from "../model/filters.ts";
import { shortID } from "../model/ids.ts";
import { windowLabel } from "../model/window.ts";
import { ago, formatInstant } from "../model/instants.ts";
import { formatCount, formatSeconds } from "../model/seconds.ts";
import { ruleName, severityOf, words } from "../model/words.ts";

export function Search() {
  const [query, setQuery] = useSearchParams();
  const [open, setOpen] = useState(false);
  const filters = readFilters(query);
  const exclusions = readExclusions(query);
  const without = parametersOf(exclusions);
  const search = useSearch(filters, without);
  const health = useHealth();
  const data = health.data?.data;
  if (data && data.hops === 0 && data.spans === 0) return <FirstTrace />;
  const change = (changes: Record<string, string>) => setQuery(withFilter(query, changes));
  const exclude = (exclusion: Exclusion) => setQuery((current) => toggleExclusion(current, exclusion));
  const clear = () => setQuery((current) => withFilter(withoutExclusions(current), Object.fromEntries(filterNames.map((name) => [name, ""]))));
  const pages = search.data?.pages ?? [];
  const rows = pages.flatMap((page) => page.rows);
  const examined = pages.reduce((sum, page) => sum + page.examined, 0);
  return (
    <>
      <title>Traces · Laxity</title>
      <div className="page-head">
        <div>
          <h1>Traces</h1>
          <p className="facts small">
            <span>{windowLabel({ from: filters["from"] ?? "", to: filters["to"] ?? "" }, zone.use())}</span>
            {pages[0] && <span><b>{formatCount(rows.length)}{search.hasNextPage ? "+" : ""}</b> found, {formatCount(examined)} examined</span>}
            {pages[0] && <Freshness watermark={pages[0].watermark} provisional={false} />}
          </p>
        </div>
        <div className="actions">
          <button type="button" className="button facets-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>Filters</button>
          <SearchTools key={query.toString()} filters={filters} without={without} />
        </div>
      </div>
      <Active filters={filters} change={change} exclusions={exclusions} exclude={exclude} clear={clear} />
      <div className="search">
        <Facets filters={filters} without={without} rows={rows} change={change} exclude={exclude} open={open} />
        <div className="page-results">
          {search.data && <Stale error={search.error} at={search.dataUpdatedAt} retry={search.refetch} />}
          {search.isPending && <Loading what="traces" rows={12} />}
          {search.isError && !search.data && <Failure error={search.error} retry={search.refetch} />}
          {search.data && rows.length === 0 && <Nothing more={search.hasNextPage} go={() => search.fetchNextPage()} busy={search.isFetchingNextPage} narrowed={exclusions.length > 0 || filterNames.some((name) => filters[name])} clear={clear} change={change} />}
          {rows.length > 0 && (
            <div className={`panel results${search.isPlaceholderData ? " stale" : ""}`}>
              <Results rows={rows} change={change} exclude={exclude} />
              <div className="results-foot">
                {search.hasNextPage
                  ? <button type="button" className="button" disabled={search.isFetchingNextPage} onClick={() => search.fetchNextPage()}>{search.isFetchingNextPage ? "Searching" : "Search further back"}</button>
                  : <span className="quiet small">That is all in this time range.</span>}
              </div>
            </div>
          )}
        </div>
      </div>
    </>
  );
}

interface ActiveProps {
  filters: Filters;
  change: (changes: Record<string, string>) => void;
  exclusions: readonly Exclusion[];
  exclude: (exclusion: Exclusion) => void;
  clear: () => void;
}

function Active({ filters, change, exclusions, exclude, clear }: ActiveProps) {
  const active = filterNames.filter((name) => filters[name]);
  if (active.length + exclusions.length === 0) return null;
  return (
    <div className="filters" role="group" aria-label="Active filters">
      {active.map((name) => (
        <button key={name} type="button" aria-label={`Remove the filter ${name}`} onClick={() => change({ [name]: "" })}>
          {filterText(name, filters[name] ?? "")} <Icon name="cross" />
        </button>
      ))}
      {exclusions.map((exclusion) => (
        <button key={`${exclusion.name} ${exclusion.value}`} type="button" className="without" aria-label={`Take back: without ${filterText(exclusion.name, exclusion.value)}`} onClick={() => exclude(exclusion)}>
          Without {filterText(exclusion.name, exclusion.value)} <Icon name="cross" />
        </button>
      ))}
      {active.length + exclusions.length > 1 && <button type="button" onClick={clear}>Remove all</button>}
    </div>
  );
}

function Nothing({ more, go, busy, narrowed, clear, change }: { more: boolean; go: () => void; busy: boolean; narrowed: boolean; clear: () => void; change: (changes: Record<string, string>) => void }) {
  return (
    <Empty title={more ? "Nothing so far" : "No trace matches"}>
      <p className="quiet">
        {more ? "The most recent traces hold no match. Older ones in this time range were not looked at yet."
          : narrowed ? "Remove a filter or widen the time range." : "Widen the time range. Imported traces keep the time at which they were recorded."}
      </p>
      <div className="actions">
        {more && <button type="button" className="button primary" disabled={busy} onClick={go}>{busy ? "Searching" : "Search further back"}</button>}
        {narrowed && <button type="button" className="button" onClick={clear}>Remove all filters</button>}
        <button type="button" className="button" onClick={() => change({ from: "1970-01-01T00:00:00Z", to: "" })}>Search all time</button>
      </div>
    </Empty>
  );
}

interface ResultsProps {
  rows: readonly TraceRow[];
  change: (changes: Record<string, string>) => void;
  exclude: (exclusion: Exclusion) => void;
}

function Results({ rows, change, exclude }: ResultsProps) {
  const shown = zone.use();
  const [current, body] = useRows(rows.length, (i) => rows[i] && tracePath(rows[i]));
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Route</th>
          <th scope="col">Started</th>
          <th scope="col">Spent of the budget</th>
          <th scope="col" className="num">Margin</th>
          <th scope="col">Outcome</th>
          <th scope="col">First violation</th>
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((row, i) => (
          <tr key={row.trace_id} className={i === current ? "current" : undefined}>
            <td className="wide">
              <Link className="open" href={tracePath(row)}><bdi>{row.route || "unnamed"}</bdi></Link>
              <span className="below"><Narrow what={`service ${row.service}`} only={() => change({ service: row.service })} without={() => exclude({ name: "service", value: row.service })}><bdi>{row.service}</bdi></Narrow> · <span className="mono">{shortID(row.trace_id)}</span>{!row.complete && " · spans are missing"}</span>
            </td>
            <td className="wide when" title={row.started_at}>{formatInstant(row.started_at, shown)}<span className="below">{ago(row.started_at, Date.now())}</span></td>
            <td>
              {formatSeconds(row.duration_s)} <span className="quiet">{row.budget_s === null ? "no budget" : `of ${formatSeconds(row.budget_s)}`}</span>
              <Spent duration={row.duration_s} budget={row.budget_s} />
            </td>
            <td className={`num${(row.margin_s ?? 0) < 0 ? " bad" : ""}`} data-label="Margin">{formatSeconds(row.margin_s)}</td>
            <td><Narrow what={words(row.outcome)} only={() => change({ outcome: row.outcome })} without={() => exclude({ name: "outcome", value: row.outcome })}><Outcome outcome={row.outcome} kind={row.class} late={row.late} /></Narrow></td>
            <td className="wide">
              {row.first_violation ? <Narrow what={ruleName(row.first_violation)} only={() => change({ rule: row.first_violation })} without={() => exclude({ name: "rule", value: row.first_violation })}><Violation rule={row.first_violation} /></Narrow> : <span className="quiet">No violation</span>}
              <Others row={row} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The page of a trace with the account that the row is about. */
function tracePath(row: TraceRow): string {
  return `/traces/${row.trace_id}?entry=${row.entry_span_id}`;
}

function Violation({ rule }: { rule: string }) {
  const severity = severityOf(rule);
  return <><span className={severity === "error" ? "bad" : "warn"}><Icon name={severity} /></span> {ruleName(rule)}</>;
}

function Others({ row }: { row: TraceRow }) {
  const others = row.rules.filter((rule) => rule !== row.first_violation);
  if (others.length === 0) return null;
  return <span className="below">{others.slice(0, 2).map(ruleName).join(", ")}{others.length > 2 && ` and ${others.length - 2} more`}</span>;
}
