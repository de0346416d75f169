import { expect, it } from "vitest";
import { span } from "../../dev/made.ts";
import { cancellationOf } from "./cancel.ts";

it("is nothing where nothing was cancelled", () => expect(cancellationOf([span("a", null, 0, 1)])).toBeNull());

it("tells who gave up, who saw it, who stopped and of whom nobody knows", () => {
  const found = cancellationOf([
    span("callee", "caller", 0.1, 0.9, { attributes: { "deadline.cancel.cause": "upstream_deadline", "deadline.cancel.after": "0.45", "deadline.cancel.confirmed": "true", "deadline.post_cancel.time": "0.25" } }),
    span("caller", null, 0, 0.5, { attributes: { "deadline.cancel.cause": "local_deadline", "deadline.cancel.after": "0.5", "deadline.cancel.confirmed": "false" } }),
    span("quiet", "callee", 0.2, 0.7),
  ]);
  expect(found).toMatchObject({ sent: 0.5, cause: "local_deadline", open: 1 });
  expect(found?.spans.map((one) => [one.span.span_id, one.seen, one.stopped, one.denied])).toEqual([["caller", 0.5, null, true], ["callee", 0.55, 0.8, false]]);
});

it("TestIssueRefusedStepNeverConfirmed: a step that never started has nothing to stop", () => {
  const found = cancellationOf([
    span("entry", null, 0, 1, { attributes: { "deadline.cancel.cause": "upstream_deadline" } }),
    span("refused", "entry", 0.9, 0, { attributes: { "deadline.cancel.cause": "upstream_deadline", "deadline.decision": "reject" } }),
  ]);
  expect(found?.open).toBe(1);
  expect(found?.spans.map((one) => [one.span.span_id, one.refused])).toEqual([["refused", true], ["entry", false]]);
});

it("takes the end of a span that says no more for the signal", () => {
  expect(cancellationOf([span("a", null, 1, 2, { attributes: { "deadline.cancel.cause": "expiry", "deadline.cancel.after": "soon" } })])?.sent).toBe(3);
});
