import type { Point } from "../model/series.ts";

const width = 200;
const height = 48;

/** A share over time as small columns. */
export function Columns({ points, label }: { points: readonly Point[]; label: string }) {
  const first = points[0]?.at ?? 0;
  const last = points.at(-1)?.at ?? 1;
  const gap = points.length > 1 ? Math.min(...points.slice(1).map((point, i) => point.at - (points[i]?.at ?? 0))) : 1;
  const span = Math.max(1, last - first + gap);
  const most = Math.max(1e-9, ...points.map((point) => point.value ?? 0));
  return (
    <svg className="columns" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} vectorEffect="non-scaling-stroke" />
      {points.map(({ at, value }) => value
        ? <rect key={at} x={((at - first) / span) * width} width={Math.max(1, (gap / span) * width - 0.5)} y={height - (value / most) * (height - 2)} height={(value / most) * (height - 2)} />
        : null)}
    </svg>
  );
}
