import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { useRef } from "react";
import type { PatienceReport } from "../api/shapes.ts";
import { curveOf } from "../model/patience.ts";
import { formatRatio, formatSeconds } from "../model/seconds.ts";
import { useWidth } from "./width.ts";

const height = 220;
const left = 48;
const right = 16;
const top = 20;
const bottom = 36;

/** When clients leave, against the budget that was granted to them. */
export function PatienceCurve({ patience }: { patience: PatienceReport }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  return <div ref={box} className="chart" style={{ minHeight: height }}>{width > 0 && <Drawing patience={patience} width={width} />}</div>;
}

function Drawing({ patience, width }: { patience: PatienceReport; width: number }) {
  const { patience_p50_s: median, budget_p50_s: budget } = patience;
  const curve = curveOf(patience);
  const longest = Math.max(curve.at(-1)?.after ?? 0, budget ?? 0);
  const x = scaleLinear().domain([0, longest * 1.05 || 1]).range([left, width - right]);
  const y = scaleLinear().domain([0, 1]).range([height - bottom, top]);
  const points = [{ after: 0, share: 0 }, ...curve, { after: x.domain()[1] ?? longest, share: 1 }];
  const stair = line<(typeof points)[number]>().x((point) => x(point.after)).y((point) => y(point.share));
  const below = area<(typeof points)[number]>().x((point) => x(point.after)).y0(y(0)).y1((point) => y(point.share));
  return (
    <svg width={width} height={height} role="img" aria-label={`Half of those who left had left after ${formatSeconds(median)}${budget === null ? "" : `; their median budget was ${formatSeconds(budget)}`}`}>
      {[0, 0.25, 0.5, 0.75, 1].map((share) => <g key={share}><line className="grid" x1={left} x2={width - right} y1={y(share)} y2={y(share)} /><text className="tick" x={left - 8} y={y(share)} dy="0.32em" textAnchor="end">{formatRatio(share)}</text></g>)}
      {x.ticks(Math.max(3, Math.floor(width / 120))).map((tick) => <text key={tick} className="tick" x={x(tick)} y={height - bottom + 16} textAnchor="middle">{formatSeconds(tick)}</text>)}
      <path className="patience-area" d={below(points) ?? ""} />
      <path className="series line" stroke="var(--accent)" d={stair(points) ?? ""} />
      {median !== null && <line className="cursor" x1={x(median)} x2={x(median)} y1={y(0.5)} y2={height - bottom} />}
      {budget !== null && <line className="limit" x1={x(budget)} x2={x(budget)} y1={top - 4} y2={height - bottom} />}
      {budget !== null && <text className="limit-name" x={x(budget) + (x(budget) > width - 130 ? -6 : 6)} y={top - 8} textAnchor={x(budget) > width - 130 ? "end" : "start"}>budget {formatSeconds(budget)}</text>}
      <text className="axis" x={(left + width - right) / 2} y={height - 4} textAnchor="middle">waited before leaving</text>
    </svg>
  );
}
