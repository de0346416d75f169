import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { line } from "../../dev/made.ts";
import type { Statement } from "../api/shapes.ts";
import { charges, deadlineOf, groupFindings, headline, linesBySpan, readAccount, violationSpans } from "./statement.ts";

const statement = JSON.parse(readFileSync("../api/testdata/statement.json", "utf8")) as Statement;

describe("a late statement", () => {
  it("keeps orphan work outside the account", () => {
    const account = readAccount(statement);
    expect(account.inside.map((line) => line.kind)).toEqual(["opening", "own_work", "hop", "own_work", "hop", "own_work", "closing"]);
    expect(account.outside.map((line) => line.kind)).toEqual(["orphan"]);
  });

  it("charges stretches that follow each other from opening to closing", () => {
    const stretches = charges(statement);
    expect(stretches[0]?.before).toBe(statement.opening_s);
    expect(stretches.at(-1)?.after).toBe(statement.closing_s);
    for (let i = 1; i < stretches.length; i++) {
      expect(stretches[i]?.before).toBe(stretches[i - 1]?.after);
      expect(stretches[i]?.from).toBeCloseTo(stretches[i - 1]?.to ?? NaN, 9);
    }
  });

  it("knows its deadline", () => expect(deadlineOf(statement)).toBe(1));

  it("leads from a span to its lines", () => {
    const call = statement.lines.find((candidate) => candidate.cause === "local_deadline");
    expect(linesBySpan(statement).get(call?.span_id ?? "")).toEqual([call]);
  });

  it("puts the first violation first", () => {
    expect(groupFindings(statement).map((group) => [group.rule, group.first])).toEqual([["orphan_work", true], ["late", false], ["missing_budget", false]]);
    expect(violationSpans(statement)).toEqual(["orphan_work", "late"].map((rule) => statement.findings.find((finding) => finding.rule === rule)?.span_id));
  });

  it("says so in a sentence", () => {
    expect(headline(statement, (s) => `${s} s`)).toBe("Had 1 s, took 1.3 s: 0.3 s too late.");
  });
});

describe("a statement without a budget", () => {
  const none: Statement = {
    ...statement, budget: null, opening_s: null, closing_s: null, margin_s: null, late: false,
    lines: statement.lines.map((line) => ({ ...line, balance_s: null })),
  };

  it("has the same stretches and no balance", () => {
    expect(charges(none).map((c) => [c.from, c.to])).toEqual(charges(statement).map((c) => [c.from, c.to]));
    expect(charges(none).every((c) => c.before === null && c.after === null)).toBe(true);
    expect(deadlineOf(none)).toBeNull();
  });

  it("TestIssueFailedHasNothingToSpare: a request without an answer in time spares nothing", () => {
    const failed = { ...statement, outcome: "failed", exhausted: false, late: false, margin_s: 0.3, duration_s: 0.7 } as Statement;
    expect(headline(failed, (s) => `${s} s`)).toBe("Had 1 s and ended after 0.7 s without an answer, with 0.3 s left.");
  });
  it("says that nothing was granted", () => expect(headline(none, String)).toContain("no budget was granted"));
});

it("moves the deadline by what an expiry took, in no time", () => {
  const nearer: Statement = {
    ...statement,
    lines: [
      line(1, "limit_change", 0.2, 0.25, 0.55, { text: "the quote expires" }),
      line(2, "own_work", 0.2, 0.1, 0.45),
    ],
  };
  expect(deadlineOf(nearer)).toBe(0.75);
  expect(charges(nearer)[0]).toMatchObject({ from: 0.2, to: 0.2, before: 1, after: 0.55 });
});
