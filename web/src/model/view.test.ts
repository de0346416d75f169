import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Statement, Trace } from "../api/shapes.ts";
import { drawOn, requestRange, wholeRange } from "./view.ts";

const read = (name: string): unknown => JSON.parse(readFileSync(`../api/testdata/${name}`, "utf8"));
const trace = read("trace.json") as Trace;
const statement = read("statement.json") as Statement;

it("moves the statement to the clock of the trace", () => {
  const later: Trace = { ...trace, spans: trace.spans.map((span) => ({ ...span, at_s: span.at_s + 5 })) };
  expect(drawOn(later, statement)).toMatchObject({ origin: 5, answer: 6.3, deadline: 6 });
});

it("finds the entry by time where its span is missing", () => {
  const headless: Trace = { ...trace, started_at: new Date(Date.parse(statement.started_at) - 1000).toISOString(), spans: trace.spans.slice(1) };
  expect(drawOn(headless, statement).origin).toBe(1);
});

it("frames the request with its deadline", () => {
  const drawn = drawOn(trace, statement);
  const request = requestRange(drawn, { from: 0, to: 60 });
  expect(request.from).toBeLessThanOrEqual(0);
  expect(request.to).toBeGreaterThan(1.3);
  expect(request.to).toBeLessThan(1.6);
});

it("shows a deadline beyond the last span unless it is far away", () => {
  const drawn = drawOn(trace, statement);
  expect(wholeRange({ ...drawn, deadline: 2 }, { from: 0, to: 1 }).to).toBeGreaterThan(2);
  expect(wholeRange({ ...drawn, deadline: 20 }, { from: 0, to: 1 }).to).toBeLessThan(1.2);
});
