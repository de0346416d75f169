import { useFacets } from "../api/queries.ts";
import { causeValues, outcomeValues, phaseValues } from "../api/names.ts";
import type { TraceRow } from "../api/shapes.ts";
import { excludedNames, type ExcludedName, type Exclusion, type Exclusions } from "../model/exclusions.ts";
import type { Filters } from "../model/filters.ts";
import { countBy } from "../model/facets.ts";
import { formatCount } from "../model/seconds.ts";
import { ruleName, ruleNames, words } from "../model/words.ts";

interface Props {
  filters: Filters;
  without: Exclusions;
  rows: readonly TraceRow[];
  change: (changes: Record<string, string>) => void;
  exclude: (exclusion: Exclusion) => void;
  open: boolean;
}

const classes = ["late_or_failed", "degraded", "benign", "in_time"];
const same = (value: string) => value;

/** Narrows a search. The counts are those of all judged traces of the window; until they are there, of the rows shown. */
export function Facets({ filters, without, rows, change, exclude, open }: Props) {
  const facets = useFacets(filters, without).data?.facets;
  const counted = (name: string, values: (row: TraceRow) => readonly string[] = () => []) => {
    const known = facets?.find((facet) => facet.facet === name);
    return known && known.values.length > 0 ? new Map(known.values.map((one) => [one.value, one.traces])) : countBy(rows, values);
  };
  const distinct = (name: string) => facets?.find((facet) => facet.facet === name)?.distinct;
  const shared = { filters, change, exclude };
  const found = (label: string, name: ExcludedName, values?: (row: TraceRow) => readonly string[]) => <Facet label={label} name={name} counts={counted(name, values)} distinct={distinct(name)} word={same} {...shared} />;
  return (
    <aside className="panel facets" data-open={open} aria-label="Filters">
      {found("Service", "service", (row) => [row.service])}
      {found("Route", "route", (row) => [row.route])}
      <Facet label="Kind" name="class" values={classes} counts={counted("class", (row) => [row.class])} word={words} {...shared} />
      <Facet label="Outcome" name="outcome" values={outcomeValues} counts={counted("outcome", (row) => [row.outcome])} word={words} {...shared} />
      <Facet label="In time" name="late" values={["true", "false"]} counts={counted("late", (row) => [String(row.late)])} word={(value) => (value === "true" ? "Late" : "Not late")} {...shared} />
      <Facet label="Finding" name="rule" values={ruleNames} counts={counted("rule", (row) => row.rules)} word={ruleName} {...shared} />
      <Bounds label="Margin, seconds" name="margin" {...{ filters, change }} />
      <Bounds label="Duration, seconds" name="duration" {...{ filters, change }} />
      {found("Stage", "stage")}
      {found("Called service", "peer")}
      <Facet label="Cancelled by" name="cause" values={causeValues} counts={counted("cause")} word={words} {...shared} />
      <Facet label="Timed out in phase" name="phase" values={phaseValues} counts={counted("phase")} word={words} {...shared} />
      {found("Environment", "environment")}
      {found("Version", "version")}
    </aside>
  );
}

interface FilterProps {
  label: string;
  name: string;
  filters: Filters;
  change: (changes: Record<string, string>) => void;
}

interface FacetProps extends FilterProps {
  /** All values that there can be, in order; without them the values are those counted. */
  values?: readonly string[];
  counts: Map<string, number>;
  /** How many values there are, if more than counted. */
  distinct?: number | undefined;
  word: (value: string) => string;
  exclude: (exclusion: Exclusion) => void;
}

const mostShown = 6;

function Facet({ label, name, values, counts, distinct, word, filters, change, exclude }: FacetProps) {
  const current = filters[name];
  const toggle = (value: string) => change({ [name]: current === value ? "" : value });
  const leave = (value: string) => {
    const known = excludedNames.find((one) => one === name);
    if (known) exclude({ name: known, value });
    else change({ [name]: value === "true" ? "false" : "true" });
  };
  const button = (value: string) => (
    <li key={value}>
      <button type="button" className="plain" aria-pressed={current === value} onClick={() => toggle(value)} title={word(value)}>
        <span><bdi>{word(value)}</bdi></span>
        <span className="num">{counts.has(value) ? formatCount(counts.get(value) ?? 0) : ""}</span>
      </button>
      <button type="button" className="plain without" aria-label={`Without ${word(value)}`} title={`Without ${word(value)}`} onClick={() => leave(value)}>−</button>
    </li>
  );
  const listed = values ? values.filter((value) => counts.has(value) || value === current) : [...new Set([...(current ? [current] : []), ...counts.keys()])];
  const seen = values ? listed : listed.slice(0, mostShown);
  const rest = values ? values.filter((value) => !seen.includes(value)) : listed.slice(mostShown);
  if (seen.length + rest.length === 0) return null;
  return (
    <div>
      <h3>{label}</h3>
      <ul>{seen.map(button)}</ul>
      {rest.length > 0 && <details><summary>{seen.length > 0 ? `${rest.length} more` : `Choose one of ${rest.length}`}</summary><ul>{rest.map(button)}</ul></details>}
      {distinct !== undefined && distinct > listed.length && <p className="quiet small">{listed.length} of {distinct}; <kbd>/</kbd> finds the others.</p>}
    </div>
  );
}

function Bounds({ label, name, filters, change }: FilterProps) {
  return (
    <div>
      <h3>{label}</h3>
      <div className="pair">
        <Bound label="Above" name={`${name}_gt`} {...{ filters, change }} />
        <Bound label="Below" name={`${name}_lt`} {...{ filters, change }} />
      </div>
    </div>
  );
}

function Bound({ label, name, filters, change }: FilterProps) {
  const given = filters[name] ?? "";
  // A cell of a heat map bounds to the nanosecond.
  const value = given !== "" && Number.isFinite(Number(given)) ? String(Math.round(Number(given) * 1e6) / 1e6 + 0) : given;
  return (
    <label>
      {label}
      <input
        key={value} defaultValue={value} inputMode="decimal" placeholder="any"
        onBlur={(event) => event.target.value.trim() !== value && change({ [name]: event.target.value.trim() })}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    </label>
  );
}
