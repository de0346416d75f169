import type { Finding, Line, Span } from "../src/api/shapes.ts";

/** A made span: what is not given is empty. */
export function span(id: string, parent: string | null, at: number, duration: number, more: Partial<Span> = {}): Span {
  return {
    span_id: id, parent_span_id: parent, service: "s", name: id, scope: "", kind: "Internal", status: "Unset", status_message: "",
    at_s: at, started_at: "2026-01-01T00:00:00Z", duration_s: duration, entry: false, route: "", stage: "",
    attributes: {}, resource: {}, events: [], links: [], ...more,
  };
}

export function line(n: number, kind: Line["kind"], at: number, amount: number, balance: number | null, more: Partial<Line> = {}): Line {
  return {
    n, kind, at_s: at, span_id: "", parent_span_id: "", service: "", stage: "", peer: "", duration_s: amount, amount_s: amount, balance_s: balance,
    remaining_before_s: null, remaining_after_s: null, peer_s: null, between_s: null, decision: "", phase: "", cause: "", attempt: 0,
    evidence: "", inferred: false, included_in: "", text: "", ...more,
  };
}

export function finding(rule: Finding["rule"], severity: Finding["severity"], more: Partial<Finding> = {}): Finding {
  return { rule, severity, span_id: "", service: "", stage: "", amount_s: 0, evidence: "", text: "", ...more };
}
