import { scaleLinear } from "d3-scale";
import { area, curveMonotoneX, line } from "d3-shape";
import { useId, useMemo, useRef, useState } from "react";
import { zone } from "../components/settings.ts";
import { formatInstant } from "../model/instants.ts";
import { bounds, layers, nearest, stretches, unbroken, type Series } from "../model/series.ts";
import { timeScale, timeTicks, type Span } from "./timeScale.ts";
import { useWidth } from "./width.ts";

const left = 58;
const right = 10;
const top = 22;
const bottom = 22;

/** Something that happened, such as a deployment. */
export interface Mark {
  id: string;
  at: number;
  label: string;
}

interface Props {
  /** What the chart shows, in a sentence, for those who do not see it. */
  label: string;
  span: Span;
  /** Width of a bucket in milliseconds. */
  step: number;
  series: readonly Series[];
  format: (value: number) => string;
  height?: number;
  /** Values below zero are past the deadline. */
  signed?: boolean;
  /** A line across, such as the budget. */
  limit?: { value: number; label: string } | undefined;
  marks?: readonly Mark[];
  pickMark?: (mark: Mark) => void;
  zoom?: (span: Span) => void;
  /** Off where something beside the chart tells the colours. */
  legend?: boolean;
}

/** Values over time. Dragging across zooms; the arrow keys walk from bucket to bucket. */
export function TimeChart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  return (
    <figure className="chart" ref={box} style={{ minHeight: props.height ?? 220 }}>
      {width > 0 && <Drawing {...props} width={width} />}
      {props.legend !== false && <figcaption><Legend series={props.series} limit={props.limit} /></figcaption>}
    </figure>
  );
}

function Drawing({ label, span, step, series, format, height = 220, signed = false, limit, marks = [], pickMark, zoom, width }: Props & { width: number }) {
  const id = useId();
  const shown = zone.use();
  const [at, setAt] = useState<number | null>(null);
  const [dragged, setDragged] = useState<Span | null>(null);
  const inner = Math.max(10, width - left - right);
  const x = useMemo(() => timeScale(span, inner, shown), [span, inner, shown]);
  const y = useMemo(() => {
    const [least, most] = bounds(series, limit ? [limit.value] : []);
    return scaleLinear().domain([least, most === least ? least + 1 : most]).nice(4).range([height - bottom, top]);
  }, [series, limit, height]);
  const instantAt = (clientX: number, element: Element) => {
    const box = element.getBoundingClientRect();
    return Number(x.invert(Math.min(inner, Math.max(0, clientX - box.left))));
  };
  const walk = (by: number) => {
    const instants = [...new Set(series.flatMap((one) => one.points.map((point) => point.at)))].sort((a, b) => a - b);
    const index = at === null ? (by > 0 ? -1 : instants.length) : instants.indexOf(at);
    const next = instants[Math.min(instants.length - 1, Math.max(0, index + by))];
    if (next !== undefined) setAt(next);
  };
  const zero = y(0);
  const middle = (instant: number) => x(instant + step / 2);
  return (
    <div className="chart-box" style={{ height }}>
      <svg width={width} height={height} role="img" aria-label={label}>
        <g transform={`translate(${left} 0)`}>
          {y.ticks(4).map((value) => (
            <g key={value}>
              <line className="grid" x2={inner} y1={y(value)} y2={y(value)} />
              <text className="tick" x={-8} y={y(value)} dy="0.32em" textAnchor="end">{format(value)}</text>
            </g>
          ))}
          {timeTicks(span, inner, shown).map(({ at: tick, text }) => <text key={Number(tick)} className="tick" x={x(tick)} y={height - 6} textAnchor="middle">{text}</text>)}
          <clipPath id={id}><rect width={inner} y={0} height={height - bottom} /></clipPath>
          <g clipPath={`url(#${CSS.escape(id)})`}>
            {signed && zero < height - bottom && <rect className="past" width={inner} y={zero} height={Math.max(0, height - bottom - zero)} />}
            <Shapes series={series} step={step} x={middle} edge={x} y={y} />
          </g>
          <line className="zero" x2={inner} y1={zero} y2={zero} />
          {limit && <line className="limit" x2={inner} y1={y(limit.value)} y2={y(limit.value)} />}
          {at !== null && <line className="cursor" x1={middle(at)} x2={middle(at)} y1={top} y2={height - bottom} />}
          {at !== null && series.filter((one) => one.kind === "line" || one.kind === "was").map((one) => {
            const value = one.points.find((point) => point.at === at)?.value;
            return value === null || value === undefined ? null : <circle key={one.key} cx={middle(at)} cy={y(value)} r="3.5" fill={one.colour} />;
          })}
          {dragged && <rect className="brush" x={x(Math.min(dragged.from, dragged.to))} width={Math.abs(x(dragged.to) - x(dragged.from))} y={top} height={height - bottom - top} />}
        </g>
      </svg>
      <div
        className={`chart-plane${zoom ? " zooms" : ""}`} style={{ left, right, top: 0, bottom }} tabIndex={0} role="slider" aria-label={`${label}. Arrow keys read the values`} aria-valuemin={span.from} aria-valuemax={span.to}
        aria-valuenow={at ?? span.from} aria-valuetext={at === null ? "no instant chosen" : [formatInstant(new Date(at).toISOString(), shown), ...valuesAt(series, at, format)].join(", ")}
        title={zoom ? "Drag to zoom" : undefined}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight" || event.key === "ArrowLeft") { event.preventDefault(); walk(event.key === "ArrowRight" ? 1 : -1); }
          if (event.key === "Escape") setAt(null);
        }}
        onPointerMove={(event) => {
          const instant = instantAt(event.clientX, event.currentTarget);
          setAt(nearest(series, instant - step / 2));
          if (dragged) setDragged({ from: dragged.from, to: instant });
        }}
        onPointerLeave={() => !dragged && setAt(null)}
        onPointerDown={(event) => {
          if (!zoom || event.pointerType === "touch" || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const instant = instantAt(event.clientX, event.currentTarget);
          setDragged({ from: instant, to: instant });
        }}
        onPointerUp={() => {
          if (dragged && zoom && Math.abs(x(dragged.to) - x(dragged.from)) > 6) zoom({ from: Math.min(dragged.from, dragged.to), to: Math.max(dragged.from, dragged.to) });
          setDragged(null);
        }}
        onPointerCancel={() => setDragged(null)}
      />
      {marks.filter((mark) => mark.at >= span.from && mark.at <= span.to).map((mark) => (
        <button key={mark.id} type="button" className={`chart-mark${x(mark.at) > inner - 120 ? " before" : ""}`} style={{ left: left + x(mark.at), height: height - bottom }} title={`${mark.label}, ${formatInstant(new Date(mark.at).toISOString(), shown)}: compare before and after`} onClick={() => pickMark?.(mark)}>
          <span>{mark.label}</span>
        </button>
      ))}
      {at !== null && !dragged && <Tip series={series} at={at} place={left + middle(at)} width={width} format={format} />}
    </div>
  );
}

interface ShapesProps {
  series: readonly Series[];
  step: number;
  x: (instant: number) => number;
  edge: (instant: number) => number;
  y: (value: number) => number;
}

function Shapes({ series, step, x, edge, y }: ShapesProps) {
  const stacked = layers(series.filter((one) => one.kind === "stack"));
  const wide = Math.max(1, edge(step) - edge(0) - 1);
  return (
    <>
      {stacked.map(({ series: one, points }) => {
        const shape = area<(typeof points)[number]>().x((point) => x(point.at)).y0((point) => y(point.low)).y1((point) => y(point.high)).curve(curveMonotoneX);
        return unbroken(points, step).map((part, i) => part.length === 1 && part[0]
          ? <rect key={`${one.key} ${i}`} className="layer" fill={one.colour} x={edge(part[0].at)} width={wide} y={y(part[0].high)} height={Math.max(0, y(part[0].low) - y(part[0].high))} />
          : <path key={`${one.key} ${i}`} className="layer" fill={one.colour} d={shape(part) ?? ""} />);
      })}
      {series.filter((one) => one.kind === "bars").map((one) => one.points.map(({ at, value }) =>
        value ? <rect key={`${one.key} ${at}`} fill={one.colour} x={edge(at)} width={wide} y={Math.min(y(value), y(0) - 1)} height={Math.max(1, y(0) - y(value))} /> : null))}
      {series.filter((one) => one.kind === "line" || one.kind === "was").map((one) => {
        const shape = line<{ at: number; value: number }>().x((point) => x(point.at)).y((point) => y(point.value)).curve(curveMonotoneX);
        return stretches(one.points, step).map((part, i) => part.length === 1 && part[0]
          ? <circle key={`${one.key} ${i}`} cx={x(part[0].at)} cy={y(part[0].value)} r="2" fill={one.colour} />
          : <path key={`${one.key} ${i}`} className={`series ${one.kind}`} stroke={one.colour} d={shape(part) ?? ""} />);
      })}
    </>
  );
}

function valuesAt(series: readonly Series[], at: number, format: (value: number) => string): string[] {
  return series.flatMap((one) => {
    const value = one.points.find((point) => point.at === at)?.value;
    return value === null || value === undefined ? [] : [`${one.label} ${format(value)}`];
  });
}

function Tip({ series, at, place, width, format }: { series: readonly Series[]; at: number; place: number; width: number; format: (value: number) => string }) {
  const shown = zone.use();
  const side = place > width * 0.6 ? { right: width - place + 10 } : { left: place + 10 };
  return (
    <div className="chart-tip" style={side} aria-hidden="true">
      <b>{formatInstant(new Date(at).toISOString(), shown).replace(/:\d\d$/, "")}</b>
      {[...series].reverse().map((one) => {
        const value = one.points.find((point) => point.at === at)?.value;
        if (value === null || value === undefined) return null;
        return <div key={one.key}><Swatch series={one} /><span>{one.label}</span><span className="num">{format(value)}</span></div>;
      })}
    </div>
  );
}

function Swatch({ series }: { series: Series }) {
  return <i className={`swatch ${series.kind}`} style={{ "--c": series.colour } as React.CSSProperties} />;
}

function Legend({ series, limit }: { series: readonly Series[]; limit?: { label: string } | undefined }) {
  if (series.length < 2 && !limit) return null;
  return (
    <span className="chart-legend">
      {[...series].reverse().map((one) => <span key={one.key}><Swatch series={one} />{one.label}</span>)}
      {limit && <span><i className="swatch was" style={{ "--c": "var(--bad)" } as React.CSSProperties} />{limit.label}</span>}
    </span>
  );
}
