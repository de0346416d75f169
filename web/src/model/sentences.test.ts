import { expect, it } from "vitest";
import type { DependencyRow, OrphanRow } from "../api/shapes.ts";
import { dependencySentence, forNobody, orphanSentence } from "./sentences.ts";
import { groupBy } from "./sums.ts";

const row = (more: Partial<OrphanRow>) => ({ service: "rerank", stage: "order", orphan_s: 0, post_cancel_s: 0, still_running: 0, share_of_busy: null, ...more }) as OrphanRow;

it("adds no second twice that was orphan work and work after a cancellation", () => {
  const rows = [row({ orphan_s: 10, post_cancel_s: 10 }), row({ service: "account", orphan_s: 1, post_cancel_s: 3 })];
  expect(groupBy(rows, (one) => one.service, forNobody).map((one) => [one.key, one.total])).toEqual([["rerank", 10], ["account", 3]]);
  expect(orphanSentence(rows)).toBe("11 s of work for callers that no longer waited, 10 s of it in rerank; 2 s more after cancellations");
});

it("takes the caller's cause and the callee's own for the same work", () => {
  const rows = [row({ cause: "local_deadline", orphan_s: 4 }), row({ cause: "upstream_deadline", post_cancel_s: 4 })];
  expect(orphanSentence(rows)).toBe("4 s of work for callers that no longer waited, all of it in rerank");
});

it("TestIssueUnknownIsNotHealthy: says that nothing is known rather than that all is well", () => {
  const dependency = { service: "a", peer: "b", stage: "", generosity: null, slowdown: null, quadrant: "healthy" } as DependencyRow;
  expect(dependencySentence([dependency])).toContain("No dependency can be judged");
  expect(dependencySentence([{ ...dependency, generosity: 3 }])).toContain("Every dependency gets");
});

it("names the service with the most orphan work, however much others did after cancellations", () => {
  const rows = [row({ orphan_s: 2 }), row({ service: "account", orphan_s: 1, post_cancel_s: 9 })];
  expect(orphanSentence(rows)).toBe("3 s of work for callers that no longer waited, 2 s of it in rerank; 8 s more after cancellations");
});
