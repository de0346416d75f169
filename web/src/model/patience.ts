import type { PatienceReport } from "../api/shapes.ts";

/** Share of those who left that had left after so many seconds; rises from 0 to 1. */
export function curveOf({ rows }: PatienceReport): { after: number; share: number }[] {
  const [first] = rows;
  if (!first) return [];
  const points = [{ after: first.after_s, share: 0 }];
  for (const row of rows) {
    // Nobody left between the end of the row before and the begin of this one.
    const last = points.at(-1);
    if (last && last.after < row.after_s) points.push({ after: row.after_s, share: last.share });
    points.push({ after: row.up_to_s ?? row.after_s, share: row.gone_ratio ?? 0 });
  }
  return points;
}
