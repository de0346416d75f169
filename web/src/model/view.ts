import type { Finding, Line, Statement, Trace } from "../api/shapes.ts";
import { nanos, secondsBetween } from "./instants.ts";
import { charges, deadlineOf, findingsBySpan, linesBySpan, type Charge } from "./statement.ts";
import type { Range } from "./timeline.ts";

/** What a statement adds to the spans of its trace, with its times moved to the clock of the trace. */
export interface Drawn {
  charges: readonly Charge[];
  lines: ReadonlyMap<string, Line[]>;
  findings: ReadonlyMap<string, Finding[]>;
  opening: number | null;
  closing: number | null;
  /** Start of the entry span, the answer, and the deadline where there is a budget; seconds after the start of the trace. */
  origin: number;
  answer: number;
  deadline: number | null;
}

export function drawOn(trace: Trace, statement: Statement): Drawn {
  const entry = trace.spans.find((span) => span.span_id === statement.entry_span_id && span.entry) ?? trace.spans.find((span) => span.span_id === statement.entry_span_id);
  const origin = entry?.at_s ?? secondsBetween(nanos(trace.started_at), nanos(statement.started_at));
  const deadline = deadlineOf(statement);
  return {
    charges: charges(statement), lines: linesBySpan(statement), findings: findingsBySpan(statement.findings),
    opening: statement.opening_s, closing: statement.closing_s,
    origin, answer: origin + statement.duration_s, deadline: deadline === null ? null : origin + deadline,
  };
}

// Space to the right of the longest bar for its label, as a share of what is shown.
const labelRoom = 0.14;

/** The request with its deadline and a little air. */
export function requestRange(drawn: Drawn, whole: Range): Range {
  const end = Math.max(drawn.answer, drawn.deadline ?? drawn.answer);
  const length = end - drawn.origin || whole.to - whole.from;
  return { from: Math.min(drawn.origin - length * 0.02, whole.to), to: end + length * labelRoom };
}

/** Everything that happened, and the deadline too where it lies beyond, unless it lies so far out that nothing else would show. */
export function wholeRange(drawn: Drawn | null, spans: Range): Range {
  const length = spans.to - spans.from;
  const deadline = drawn?.deadline ?? null;
  const to = deadline !== null && deadline > spans.to && deadline - spans.from < 3 * length ? deadline : spans.to;
  return { from: spans.from, to: to + (to - spans.from) * labelRoom };
}
