import type { AttributionRow, ChangePart } from "../api/shapes.ts";
import { formatSeconds } from "./seconds.ts";
import { words } from "./words.ts";

const parts: Partial<Record<ChangePart["part"], string>> = {
  mix: "Other traffic", budget: "Budget granted", own_work: "Own work", queue: "Queue", backoff: "Back-off", cleanup: "Clean-up", limit_change: "Nearer expiry", rest: "Not explained",
};

export function partName({ part, stage, peer }: Pick<ChangePart, "part" | "stage" | "peer">): string {
  if (part === "dependency") return stage || peer || "A call";
  const name = parts[part] ?? words(part);
  return stage || peer ? `${name}, ${stage || peer}` : name;
}

/** One step of the way from the margin before to the margin after. */
export interface Step {
  key: string;
  label: string;
  from: number;
  to: number;
  change: number;
}

const mostSteps = 8;

/** The way from the mean margin before to the one after, the largest step first; the small ones are one step together. */
export function stepsOf(row: AttributionRow): Step[] {
  let at = row.before.margin_mean_s ?? 0;
  const sorted = [...row.parts].filter((part) => part.change_s !== 0).sort((a, b) => Math.abs(b.change_s) - Math.abs(a.change_s));
  const shown = sorted.length > mostSteps ? sorted.slice(0, mostSteps - 1) : sorted;
  const small = sorted.slice(shown.length).reduce((sum, part) => sum + part.change_s, 0);
  const steps = shown.map((part) => ({ key: `${part.part} ${part.stage} ${part.peer}`, label: partName(part), change: part.change_s }));
  if (shown.length < sorted.length) steps.push({ key: "small", label: `${sorted.length - shown.length} more`, change: small });
  return steps.map((step) => {
    const from = at;
    at += step.change;
    return { ...step, from, to: at };
  });
}

/** What happened to a route, in a sentence. */
export function changeSentence(row: AttributionRow): string {
  if (row.change_s === null) return "It was not answered in both windows, so there is nothing to compare.";
  if (!row.clear) return `Its mean margin moved by ${formatSeconds(row.change_s, true)}, which chance explains.`;
  const [most] = stepsOf(row).filter((step) => Math.sign(step.change) === Math.sign(row.change_s ?? 0));
  return `Its mean margin ${row.change_s < 0 ? "lost" : "gained"} ${formatSeconds(Math.abs(row.change_s))}${most ? `, most of it by ${most.label.charAt(0).toLowerCase()}${most.label.slice(1)} (${formatSeconds(most.change, true)})` : ""}.`;
}
