import type { MarginBucket, MarginReport } from "../api/shapes.ts";
import { trendShape } from "../model/trend.ts";
import { formatRatio, formatSeconds } from "../model/seconds.ts";

const width = 140;
const height = 44;
const bars = 12;

/** Margin over time, p05 and median around the line where it is used up; below it the share of missed requests. */
export function Trend({ buckets, window }: { buckets: readonly MarginBucket[]; window: MarginReport["window"] }) {
  const shape = trendShape(buckets, window, { width, height: height - bars - 2 });
  if (!shape) return <span className="quiet small">Nothing to draw</span>;
  const label = `Margin of the slow requests went from ${formatSeconds(shape.first)} to ${formatSeconds(shape.last)}; at most ${formatRatio(shape.mostMissed)} missed`;
  return (
    <svg className="trend" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      {shape.under && <path className="under" d={shape.under} />}
      <line className="zero" x1="0" x2={width} y1={shape.zero} y2={shape.zero} vectorEffect="non-scaling-stroke" />
      <path className="median" d={shape.median} vectorEffect="non-scaling-stroke" />
      <path className="low" d={shape.low} vectorEffect="non-scaling-stroke" />
      {shape.dots.map(({ x, y }) => <circle key={x} className="dot" cx={x} cy={y} r="2" />)}
      {shape.missed.map(({ x, ratio }) => {
        const size = ratio === 0 ? 0 : Math.max(1.5, Math.sqrt(ratio) * bars);
        return <rect key={x} className="missed" opacity={ratio < 0.01 ? 0.45 : 1} x={x} y={height - size} width={shape.step} height={size} />;
      })}
    </svg>
  );
}
