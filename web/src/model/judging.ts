import { lengthSince, secondsSince } from "./instants.ts";

// A worker trails by a minute or two when all is well.
const behind = 600;

/** What is wrong with a watermark of what was judged, and what to do; empty if nothing is. Without a worker there is none. */
export function judgingConcern(watermark: string | null, now: number): string {
  if (watermark === null) return "nothing is judged yet; findings come when laxity worker runs";
  if (secondsSince(watermark, now) <= behind) return "";
  return `judging is behind; findings of the last ${lengthSince(watermark, now)} are missing, and the log of laxity worker says why`;
}
