import { scaleLog } from "d3-scale";
import { useRef } from "react";
import { useLocation } from "wouter";
import { formatCount } from "../model/seconds.ts";
import { useWidth } from "./width.ts";

export interface Dependency {
  key: string;
  label: string;
  generosity: number;
  slowdown: number;
  calls: number;
  quadrant: string;
  path: string;
}

const height = 340;
const left = 52;
const right = 16;
const top = 16;
const bottom = 40;
// From where a caller counts as stingy and a dependency as slow; docs/reports.md says the same.
const stingyBelow = 1;
const slowFrom = 1.5;

const tones: Record<string, string> = { healthy: "var(--good)", stingy_caller: "var(--warn)", slow_dependency: "var(--warn)", both: "var(--bad)" };

/** What callers grant against what dependencies need: to the left callers are stingy, at the top dependencies slow. */
export function IncidentMap({ dependencies }: { dependencies: readonly Dependency[] }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  return <div ref={box} className="chart" style={{ minHeight: height }}>{width > 0 && <Drawing dependencies={dependencies} width={width} />}</div>;
}

function Drawing({ dependencies, width }: { dependencies: readonly Dependency[]; width: number }) {
  const [, navigate] = useLocation();
  const narrow = width < 560;
  const within = (values: number[], least: number, most: number): [number, number] => [Math.min(least, ...values) * 0.85, Math.max(most, ...values) * 1.2];
  const x = scaleLog().domain(within(dependencies.map((one) => one.generosity), 0.5, 4)).range([left, width - right]);
  const y = scaleLog().domain(within(dependencies.map((one) => one.slowdown), 0.7, 2.5)).range([height - bottom, top]);
  const [least, most] = [x.domain()[0] ?? 0, x.domain()[1] ?? 1];
  const [low, high] = [y.domain()[0] ?? 0, y.domain()[1] ?? 1];
  const size = (calls: number) => 5 + Math.min(9, Math.log10(Math.max(1, calls)) * 2);
  const labels = spread(dependencies.map((one) => ({ one, x: x(one.generosity), y: y(one.slowdown) })), size, width);
  return (
    <svg width={width} height={height} role="group" aria-label="Dependencies by time granted and by slowness">
      <rect className="zone warn" x={left} width={x(stingyBelow) - left} y={y(slowFrom)} height={height - bottom - y(slowFrom)} />
      <rect className="zone warn" x={x(stingyBelow)} width={width - right - x(stingyBelow)} y={top} height={y(slowFrom) - top} />
      <rect className="zone bad" x={left} width={x(stingyBelow) - left} y={top} height={y(slowFrom) - top} />
      <text className="zone-name" x={left + 8} y={top + 16}>{narrow ? "both" : "stingy and slow"}</text>
      <text className="zone-name" x={width - right - 8} y={top + 16} textAnchor="end">slow dependency</text>
      <text className="zone-name" x={left + 8} y={height - bottom - 8}>{narrow ? "stingy" : "stingy caller"}</text>
      <text className="zone-name" x={width - right - 8} y={height - bottom - 8} textAnchor="end">healthy</text>
      {apart(factors.filter((value) => value >= least && value <= most), x, stingyBelow).map((value) => (
        <g key={`x${value}`}><line className={value === stingyBelow ? "zero" : "grid"} x1={x(value)} x2={x(value)} y1={top} y2={height - bottom} /><text className="tick" x={x(value)} y={height - bottom + 16} textAnchor="middle">{value} ×</text></g>
      ))}
      {apart(factors.filter((value) => value >= low && value <= high), y, slowFrom).map((value) => (
        <g key={`y${value}`}><line className={value === slowFrom ? "zero" : "grid"} x1={left} x2={width - right} y1={y(value)} y2={y(value)} /><text className="tick" x={left - 8} y={y(value)} dy="0.32em" textAnchor="end">{value} ×</text></g>
      ))}
      <text className="axis" x={(left + width - right) / 2} y={height - 6} textAnchor="middle">time granted ÷ time usually needed (p99)</text>
      <text className="axis" transform={`translate(12 ${(height - bottom + top) / 2}) rotate(-90)`} textAnchor="middle">latency ÷ usual latency</text>
      {labels.map(({ one, x: at, y: up, labelY }) => (
        <a key={one.key} className="point" href={one.path} onClick={(event) => { event.preventDefault(); navigate(one.path); }} aria-label={`${one.label}: granted ${one.generosity.toFixed(1)} times what it usually needs, ${one.slowdown.toFixed(1)} times its usual latency, ${formatCount(one.calls)} calls`}>
          <title>{`${one.label}: granted ${one.generosity.toFixed(1)} × what it usually needs, ${one.slowdown.toFixed(1)} × its usual latency, ${formatCount(one.calls)} calls`}</title>
          <circle cx={at} cy={up} r={size(one.calls)} fill={tones[one.quadrant] ?? "var(--ink-2)"} />
          {labelY !== null && !narrow && <text className="point-name" x={at > width - 190 ? at - size(one.calls) - 4 : at + size(one.calls) + 4} y={labelY} dy="0.32em" textAnchor={at > width - 190 ? "end" : "start"}>{one.label}</text>}
        </a>
      ))}
    </svg>
  );
}

const factors = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100];

/** Those that stand far enough from each other to be read; `kept` always stays. */
function apart(values: readonly number[], scale: (value: number) => number, kept: number): number[] {
  const chosen = [kept];
  for (const value of values) if (value !== kept && chosen.every((other) => Math.abs(scale(other) - scale(value)) >= 34)) chosen.push(value);
  return chosen.filter((value) => values.includes(value));
}

interface Placed {
  one: Dependency;
  x: number;
  y: number;
  /** Where the name stands; null where there is no room for it. */
  labelY: number | null;
}

/** Moves names apart that would lie on each other, and drops those that find no room. */
function spread(points: { one: Dependency; x: number; y: number }[], size: (calls: number) => number, width: number): Placed[] {
  const taken: { x: number; y: number; width: number }[] = [];
  // A name may lie on its own dot's height, not on another dot.
  const dots = points.map((point) => ({ point, r: size(point.one.calls) }));
  const clear = (of: (typeof points)[number], x: number, y: number, width: number) => dots.every(({ point, r }) => point === of || Math.abs(point.y - y) >= r + 6 || x + width < point.x - r || point.x + r < x);
  const free = (x: number, y: number, width: number) => y > top + 4 && y < height - bottom - 4 && taken.every((other) => Math.abs(other.y - y) >= 15 || x + width < other.x || other.x + other.width < x);
  return [...points].sort((a, b) => b.one.calls - a.one.calls).map((point) => {
    const text = point.one.label.length * 7;
    const side = point.x > width - 190 ? -1 : 1;
    const start = side > 0 ? point.x + size(point.one.calls) : point.x - size(point.one.calls) - text - 8;
    const y = [0, 16, -16, 30, -30, 45, -45].map((by) => point.y + by).find((candidate) => free(start, candidate, text + 8) && clear(point, start, candidate, text + 8)) ?? null;
    if (y !== null) taken.push({ x: start, y, width: text + 8 });
    return { ...point, labelY: y };
  });
}
