import { formatSeconds } from "../model/seconds.ts";

/** Time spent against the budget: a bar whose mark is the deadline. */
export function Spent({ duration, budget }: { duration: number; budget: number | null }) {
  if (!budget) return null;
  const whole = Math.max(duration, budget) || 1;
  const end = (budget / whole) * 120;
  const used = (Math.min(duration, budget) / whole) * 120;
  return (
    <svg className="spent" viewBox="0 0 120 8" role="img" aria-label={`${formatSeconds(duration)} of ${formatSeconds(budget)}`}>
      <rect className="track" x="0.5" y="0.5" width="119" height="7" rx="1.5" />
      <rect className="used" x="0" y="0" width={used} height="8" rx="1.5" />
      {duration > budget && <rect className="over" x={end} y="0" width={120 - end} height="8" />}
      <line className="end" x1={Math.min(119, end)} x2={Math.min(119, end)} y1="-2" y2="10" />
    </svg>
  );
}
