import type { ReactNode } from "react";
import { useServices } from "../api/queries.ts";
import { causeValues, phaseValues } from "../api/names.ts";
import type { ExcludedName } from "../model/exclusions.ts";
import { filterLabel, filterText } from "../model/filterText.ts";
import type { FilterName } from "../model/filters.ts";
import { ruleName, ruleNames, words } from "../model/words.ts";
import { Icon } from "./Icon.tsx";
import type { PlaceState } from "./place.ts";

/** Narrows a report. Filters that are set stand beside the choices and go away by a click. */
export function FilterBar({ names, leaves = [], place, children }: { names: readonly FilterName[]; leaves?: readonly ExcludedName[]; place: PlaceState; children?: ReactNode }) {
  const services = useServices().data?.rows ?? [];
  const chosen = services.filter((row) => !place.filters["service"] || row.service === place.filters["service"]);
  const unique = (values: string[]) => [...new Set(values)].sort();
  const options: Partial<Record<FilterName, string[]>> = {
    service: services.map((row) => row.service), route: unique(chosen.flatMap((row) => row.routes)), stage: unique(chosen.flatMap((row) => row.stages)),
    peer: unique(chosen.flatMap((row) => row.peers)), cause: [...causeValues], phase: [...phaseValues], rule: ruleNames,
  };
  const word: Partial<Record<FilterName, (value: string) => string>> = { cause: words, phase: words, rule: ruleName };
  const set = names.filter((name) => place.filters[name]);
  const left = place.exclusions.filter(({ name }) => leaves.includes(name));
  return (
    <div className="filter-bar" role="group" aria-label="Filters">
      {names.map((name) => {
        const value = place.filters[name] ?? "";
        const listed = options[name] ?? [];
        return (
          <label key={name} className={value ? "on" : undefined}>
            <span aria-hidden="true">{filterLabel(name)}</span>
            <select aria-label={filterLabel(name)} value={value} onChange={(event) => place.change({ [name]: event.target.value })}>
              <option value="">Any</option>
              {value && !listed.includes(value) && <option value={value}>{word[name]?.(value) ?? value}</option>}
              {listed.map((option) => <option key={option} value={option}>{word[name]?.(option) ?? option}</option>)}
            </select>
          </label>
        );
      })}
      {children}
      {left.map(({ name, value }) => (
        <button key={`${name} ${value}`} type="button" className="button without" aria-label={`Take back: without ${filterText(name, value)}`} onClick={() => place.exclude({ name, value })}>
          <span>Without <bdi>{filterText(name, value)}</bdi></span> <Icon name="cross" />
        </button>
      ))}
      {set.length > 0 && (
        <button type="button" className="button" onClick={() => place.change(Object.fromEntries(set.map((name) => [name, ""])))} title={set.map((name) => filterText(name, place.filters[name] ?? "")).join(", ")}>
          Remove {set.length === 1 ? "the filter" : `${set.length} filters`} <Icon name="cross" />
        </button>
      )}
    </div>
  );
}
