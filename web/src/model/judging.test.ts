import { expect, it } from "vitest";
import { judgingConcern } from "./judging.ts";

const now = Date.parse("2026-01-31T12:00:00Z");

it.each([
  ["2026-01-31T11:58:30Z", ""],
  ["2026-01-31T11:49:00Z", "judging is behind; findings of the last 11 min are missing, and the log of laxity worker says why"],
  ["2026-01-29T11:00:00Z", "judging is behind; findings of the last 2 d are missing, and the log of laxity worker says why"],
  [null, "nothing is judged yet; findings come when laxity worker runs"],
])("says what a watermark of %s means", (watermark, said) => expect(judgingConcern(watermark, now)).toBe(said));
