import { useFacets, useServices } from "../api/queries.ts";
import { causeValues, outcomeValues, phaseValues } from "../api/names.ts";
import type { TraceRow } from "../api/shapes.ts";
import type { ExcludedName, Exclusion } from "../model/exclusions.ts";
import type { Filters } from "../model/filters.ts";
import { countBy } from "../model/facets.ts";
import { ruleName, ruleNames, words } from "../model/words.ts";

interface Props {
  filters: Filters;
  rows: readonly TraceRow[];
  change: (changes: Record<string, string>) => void;
  exclude: (exclusion: Exclusion) => void;
  open: boolean;
}

/** Narrows a search. The counts are those of all judged traces of the window; until they are there, of the rows shown. */
export function Facets({ filters, rows, change, exclude, open }: Props) {
  const services = useServices().data?.rows ?? [];
  const chosen = services.filter((row) => !filters["service"] || row.service === filters["service"]);
  const facets = useFacets(filters).data?.facets;
  const counted = (name: string, values: (row: TraceRow) => readonly string[]) => {
    const known = facets?.find((facet) => facet.facet === name);
    return known && known.values.length > 0 ? new Map(known.values.map((one) => [one.value, one.traces])) : countBy(rows, values);
  };
  const unique = (values: string[]) => [...new Set(values)].sort();
  return (
    <aside className="panel facets" data-open={open} aria-label="Filters">
      <Choice label="Service" name="service" options={services.map((row) => row.service)} {...{ filters, change }} />
      <Choice label="Route" name="route" options={unique(chosen.flatMap((row) => row.routes))} {...{ filters, change }} />
      <Facet label="Kind" name="class" values={classes} counts={counted("class", (row) => [row.class])} word={words} {...{ filters, change, exclude }} />
      <Facet label="Outcome" name="outcome" values={outcomeValues} counts={counted("outcome", (row) => [row.outcome])} word={words} {...{ filters, change, exclude }} />
      <Facet label="In time" name="late" values={["true", "false"]} counts={counted("late", (row) => [String(row.late)])} word={(value) => (value === "true" ? "Late" : "Not late")} {...{ filters, change, exclude }} />
      <Facet label="Finding" name="rule" values={ruleNames} counts={counted("rule", (row) => row.rules)} word={ruleName} {...{ filters, change, exclude }} />
      <div>
        <h3>Margin, seconds</h3>
        <div className="pair">
          <Bound label="Above" name="margin_gt" {...{ filters, change }} />
          <Bound label="Below" name="margin_lt" {...{ filters, change }} />
        </div>
      </div>
      <Choice label="Stage" name="stage" options={unique(chosen.flatMap((row) => row.stages))} {...{ filters, change }} />
      <Choice label="Called service" name="peer" options={unique(chosen.flatMap((row) => row.peers))} {...{ filters, change }} />
      <Choice label="Cancelled by" name="cause" options={[...causeValues]} word={words} {...{ filters, change }} />
      <Choice label="Timed out in phase" name="phase" options={[...phaseValues]} word={words} {...{ filters, change }} />
    </aside>
  );
}

interface FilterProps {
  label: string;
  name: string;
  filters: Filters;
  change: (changes: Record<string, string>) => void;
}

function Choice({ label, name, options, filters, change, word = (value) => value }: FilterProps & { options: string[]; word?: (value: string) => string }) {
  const value = filters[name] ?? "";
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => change({ [name]: event.target.value })}>
        <option value="">Any</option>
        {value && !options.includes(value) && <option value={value}>{word(value)}</option>}
        {options.map((option) => <option key={option} value={option}>{word(option)}</option>)}
      </select>
    </label>
  );
}

interface FacetProps extends FilterProps {
  name: ExcludedName;
  values: readonly string[];
  counts: Map<string, number>;
  word: (value: string) => string;
  exclude: (exclusion: Exclusion) => void;
}

const classes = ["late_or_failed", "degraded", "benign", "in_time"];

function Facet({ label, name, values, counts, word, filters, change, exclude }: FacetProps) {
  const current = filters[name];
  const button = (value: string) => (
    <li key={value}>
      <button type="button" className="plain" aria-pressed={current === value} onClick={() => change({ [name]: current === value ? "" : value })}>
        <span>{word(value)}</span>
        <span className="num">{counts.get(value) ?? ""}</span>
      </button>
      <button type="button" className="plain without" aria-label={`Without ${word(value)}`} title={`Without ${word(value)}`} onClick={() => exclude({ name, value })}>−</button>
    </li>
  );
  const seen = values.filter((value) => counts.has(value) || value === current);
  const rest = values.filter((value) => !seen.includes(value));
  return (
    <div>
      <h3>{label}</h3>
      <ul>{seen.map(button)}</ul>
      {rest.length > 0 && <details><summary>{seen.length > 0 ? `${rest.length} more` : `Choose one of ${rest.length}`}</summary><ul>{rest.map(button)}</ul></details>}
    </div>
  );
}

function Bound({ label, name, filters, change }: FilterProps) {
  const value = filters[name] ?? "";
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
