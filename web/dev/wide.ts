import type { Line, Span, Statement, Trace } from "../src/api/shapes.ts";
import { finding, line, span } from "./made.ts";

export const wideTraceID = "00000000000000000000000000000bad";
const width = 2000;
const services = ["gateway", "catalogue", "pricing", "stock", "images", "reviews", "accounts", "search", "media", "tax", "ads", "mail"];

/** A made trace of 2,001 spans, or as many as asked, whose root is missing, with children in every position towards their parents. */
export function wideTrace(size = width): Trace {
  const spans: Span[] = [step(0, 99_999, 0, 4)];
  for (let i = 1; i <= size; i++) {
    const parent = i < 40 ? 0 : Math.floor(i / 7);
    const above = spans[parent] as Span;
    spans.push(step(i, parent, above.at_s + ((i * 37) % 100) / 100 * above.duration_s, above.duration_s * (0.1 + (i % 13) / 12)));
  }
  return { trace_id: wideTraceID, started_at: "2026-11-02T10:15:30.25Z", duration_s: 9, source: "otel_traces", truncated: false, missing: null, spans: spans.reverse() };
}

export function wideStatement(): Statement {
  const lines: Line[] = [line(1, "opening", 0, 0, null, { span_id: id(0), text: "no budget was granted" })];
  for (let i = 1; i <= 400; i++) {
    lines.push(line(i + 1, "hop", (i - 1) / 100, 0.01, null, {
      span_id: id(i), parent_span_id: id(0), service: services[i % services.length] ?? "", stage: `step ${i}`, duration_s: 0.02,
      evidence: "estimate", inferred: true, text: `step ${i}`,
    }));
  }
  lines.push(line(402, "closing", 4, 0, null, { span_id: id(0), text: "answered after 4 s" }));
  return {
    trace_id: wideTraceID, entry_span_id: id(0), service: "gateway", route: "/catalogue", started_at: "2026-11-02T10:15:30.25Z",
    duration_s: 4, complete: false, budget: null, target: "complete", margin_s: null, late: false, outcome: "done", class: "in_time",
    first_violation: "", opening_s: null, closing_s: null, orphan_s: 0, post_cancel_s: 0, costs: {}, lines,
    findings: [finding("incomplete_trace", "info", { span_id: id(0), service: "gateway", text: "the parent of gateway never arrived" })],
  };
}

function id(i: number): string {
  return i.toString(16).padStart(16, "0");
}

function step(i: number, parent: number, at: number, duration: number): Span {
  return span(id(i), id(parent), at, duration, {
    service: services[i % services.length] ?? "", name: `operation ${i}`, kind: i % 2 ? "Client" : "Server",
    status: i % 29 === 0 ? "Error" : "Unset", entry: i === 0, attributes: { "made.index": String(i) },
  });
}
