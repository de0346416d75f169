import type { MarginRow } from "../api/shapes.ts";
import { formatRatio } from "../model/seconds.ts";

// The axis reaches from half a budget too late to a whole budget left; what lies beyond is drawn at the edge.
const least = -0.5;
const most = 1;

export function rangePosition(share: number): number {
  return ((Math.min(Math.max(share, least), most) - least) / (most - least)) * 100;
}

/** The margins of a route as shares of its budget: a bar from p05 to p95, the median as a stroke, all routes on one axis. */
export function MarginRange({ row }: { row: MarginRow }) {
  const budget = row.budget_p50_s;
  if (row.with_budget === 0) return <span className="quiet small">No budget was granted</span>;
  if (row.margin_p05_s === null || row.margin_p50_s === null) return <span className="quiet small">No request was answered</span>;
  if (budget === null || budget <= 0) return <span className="quiet small">No time was left when it came</span>;
  const low = row.margin_p05_s / budget;
  const median = row.margin_p50_s / budget;
  const high = (row.margin_p95_s ?? row.margin_p50_s) / budget;
  const zero = rangePosition(0);
  const percent = (share: number) => `${rangePosition(share)}%`;
  return (
    <svg className="margin-range" role="img" aria-label={`Margin left of the budget: 5th percentile ${formatRatio(low)}, median ${formatRatio(median)}, 95th percentile ${formatRatio(high)}`}>
      <line className="track" x1="0" x2="100%" y1="15" y2="15" />
      {low < 0 && <rect className="over" x={percent(low)} y="10" height="10" width={`${rangePosition(Math.min(high, 0)) - rangePosition(low)}%`} rx="1.5" />}
      {high > 0 && <rect className="left" x={percent(Math.max(low, 0))} y="10" height="10" width={`${Math.max(0.4, rangePosition(high) - rangePosition(Math.max(low, 0)))}%`} rx="1.5" />}
      <line className="zero" x1={`${zero}%`} x2={`${zero}%`} y1="2" y2="28" />
      <line className="median" x1={percent(median)} x2={percent(median)} y1="7" y2="23" />
    </svg>
  );
}
