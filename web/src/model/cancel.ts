import type { Span } from "../api/shapes.ts";

/** A cancellation as one span saw it; times in seconds after the start of the trace. */
export interface Cancelled {
  span: Span;
  cause: string;
  /** When the signal reached it. */
  seen: number;
  /** When its work had stopped; null where that was never confirmed. */
  stopped: number | null;
  /** It said that it does not know whether the work stopped. */
  denied: boolean;
  /** It was refused or skipped, so there was no work to stop. */
  refused: boolean;
  inferred: boolean;
}

export interface Cancellation {
  /** The first signal: whoever gave up. */
  sent: number;
  cause: string;
  spans: Cancelled[];
  /** Spans of which nobody knows whether they stopped. */
  open: number;
}

const neverStarted: ReadonlySet<string> = new Set(["reject", "skip"]);

/** What the spans of a trace say about cancellation, in order of the signal; null where nothing was cancelled. */
export function cancellationOf(spans: readonly Span[]): Cancellation | null {
  const found: Cancelled[] = [];
  for (const span of spans) {
    const cause = span.attributes["deadline.cancel.cause"];
    if (!cause) continue;
    const after = number(span.attributes["deadline.cancel.after"]) ?? span.duration_s;
    const post = number(span.attributes["deadline.post_cancel.time"]) ?? Math.max(0, span.duration_s - after);
    const confirmed = span.attributes["deadline.cancel.confirmed"];
    const seen = span.at_s + after;
    const refused = neverStarted.has(span.attributes["deadline.decision"] ?? "") && confirmed === undefined;
    found.push({ span, cause, seen, stopped: confirmed === "true" ? seen + post : null, denied: confirmed === "false", refused, inferred: span.attributes["deadline.inferred"] === "true" });
  }
  found.sort((a, b) => a.seen - b.seen || a.span.at_s - b.span.at_s);
  const [first] = found;
  if (!first) return null;
  return { sent: first.seen, cause: first.cause, spans: found, open: found.filter((one) => one.stopped === null && !one.refused).length };
}

function number(text: string | undefined): number | null {
  if (text === undefined || text === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
