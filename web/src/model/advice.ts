import type { Advice, AdviceRow } from "../api/shapes.ts";
import type { Exclusion } from "./exclusions.ts";
import type { Filters } from "./filters.ts";
import { formatCount, formatSeconds } from "./seconds.ts";

export const terms = ["cap", "observed_limit", "reserve", "min_useful"] as const;
export type Term = (typeof terms)[number];

export const termNames: Record<Term, { label: string; means: string }> = {
  cap: { label: "Cap", means: "bounds a call, whatever is left of the budget" },
  observed_limit: { label: "Observed limit", means: "what all but the accepted share of good calls need" },
  reserve: { label: "Reserve", means: "kept back for what follows the call" },
  min_useful: { label: "Least useful", means: "with less a call is not started" },
};

/** How often good calls may be cut, as shares of them. */
export const rates = ["0.0001", "0.001", "0.01", "0.05"] as const;
export const usualRate = "0.001";

/** Terms that differ from what calls record by more than a tenth, or that none of them records. */
export function moved(row: AdviceRow): Term[] {
  return terms.filter((term) => {
    const now = row.current[`${term}_s`];
    const advised = row.advised[`${term}_s`];
    return advised !== null && (now === null || Math.abs(advised - now) > now / 10);
  });
}

export function adviceSentence({ rows }: Advice): string {
  const enough = rows.filter((row) => row.enough);
  if (enough.length === 0) return "No dependency has the 100 calls that advice needs";
  const tight = enough.filter((row) => row.current.observed_limit_s !== null && row.advised.observed_limit_s !== null && row.advised.observed_limit_s > row.current.observed_limit_s * 1.1);
  const loose = enough.filter((row) => row.current.cap_s !== null && row.advised.cap_s !== null && row.advised.cap_s * 2 < row.current.cap_s);
  const unbound = enough.filter((row) => row.current.cap_s === null && row.current.observed_limit_s === null);
  const name = (row: AdviceRow) => `${row.stage || row.peer} of ${row.service}`;
  if (tight[0]) return `${name(tight[0])} needs ${formatSeconds(tight[0].advised.observed_limit_s)}, not ${formatSeconds(tight[0].current.observed_limit_s)}`;
  if (loose[0]) return `${name(loose[0])} may take ${formatSeconds(loose[0].current.cap_s)} and needs ${formatSeconds(loose[0].advised.cap_s)} at most`;
  if (unbound.length > 0) return `${unbound.length === 1 ? `${name(unbound[0] as AdviceRow)} is` : `${formatCount(unbound.length)} dependencies are`} bounded by the budget alone`;
  return "Dependencies have the terms that their calls need";
}

/** The command that writes the same file. */
export function policyCommand(filters: Filters, without: readonly Exclusion[], rate: string): string {
  const quoted = (text: string) => (/^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const { from = "", to = "" } = filters;
  const since = /^now-(\d+[smhdw])$/.exec(from)?.[1];
  const flags = [
    since && !to ? ["since", since] : ["from", from], ["to", to], ["service", filters["service"] ?? ""], ["route", filters["route"] ?? ""], ["stage", filters["stage"] ?? ""], ["peer", filters["peer"] ?? ""],
    ...without.map(({ name, value }) => ["not", `${name}=${value}`] as const), ["false-timeout-rate", rate === usualRate ? "" : rate],
  ] as const;
  return ["laxity policy", ...flags.flatMap(([name, value]) => (value ? [`--${name} ${quoted(value)}`] : []))].join(" ");
}
