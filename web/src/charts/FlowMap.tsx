import { curveMonotoneX, curveMonotoneY, line } from "d3-shape";
import { useMemo, useRef } from "react";
import { useLocation } from "wouter";
import type { PropagationRow } from "../api/shapes.ts";
import { clip, flowOf, labelSize, type FlowEdge } from "../model/flow.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";
import { useWidth } from "./width.ts";

interface Props {
  rows: readonly PropagationRow[];
  pathOf: (row: PropagationRow) => string;
}

/** Who hands what to whom. Each edge says how much budget arrives and how much of it is used; faults are marked on it. */
export function FlowMap({ rows, pathOf }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const across = width >= 640;
  const flow = useMemo(() => flowOf(rows, across), [rows, across]);
  return (
    <div ref={box} className="flow" tabIndex={0} role="region" aria-label="Service map">
      {width > 0 && (
        <svg width={flow.width} height={flow.height} viewBox={`0 0 ${flow.width} ${flow.height}`} role="group" aria-label="Services and the budget they hand down">
          <defs>
            {["ink-2", "bad", "warn"].map((tone) => (
              <marker key={tone} id={`arrow-${tone}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8Z" fill={`var(--${tone})`} /></marker>
            ))}
          </defs>
          {flow.edges.map((edge, i) => <Edge key={i} edge={edge} path={pathOf(edge.row)} across={across} />)}
          {flow.nodes.map((node) => (
            <g key={node.name} className="flow-node" transform={`translate(${node.x - node.width / 2} ${node.y - node.height / 2})`}>
              <rect width={node.width} height={node.height} rx="6" />
              <text x={node.width / 2} y={node.height / 2} dy="0.35em" textAnchor="middle">{clip(node.name)}{clip(node.name) !== node.name && <title>{node.name}</title>}</text>
            </g>
          ))}
        </svg>
      )}
      {flow.left > 0 && <p className="quiet small">{flow.left} more edges are in the table.</p>}
    </div>
  );
}

const along = line<{ x: number; y: number }>().x((point) => point.x).y((point) => point.y);

function Edge({ edge, path, across }: { edge: FlowEdge; path: string; across: boolean }) {
  const [, navigate] = useLocation();
  const { row } = edge;
  const tone = row.renewed > 0 ? "bad" : row.dropped > 0 ? "warn" : "ink-2";
  const fault = [row.renewed > 0 && `${formatCount(row.renewed)} × renewed`, row.dropped > 0 && `${formatCount(row.dropped)} × dropped`].filter(Boolean).join(", ");
  const shape = along.curve(across ? curveMonotoneX : curveMonotoneY)(edge.points) ?? "";
  const said = `${row.from} to ${row.to}: ${formatCount(row.calls)} calls, ${formatRatio(row.with_budget / Math.max(1, row.calls))} with a budget, handed ${formatSeconds(row.handed_p50_s)}, used ${formatSeconds(row.used_p50_s)}${fault ? `, ${fault}` : ""}`;
  return (
    <a className={`flow-edge ${tone}`} href={path} aria-label={said} onClick={(event) => { event.preventDefault(); navigate(path); }}>
      <title>{said}</title>
      <path className="reach" d={shape} />
      <path className={`shaft${row.with_budget === 0 ? " none" : ""}`} d={shape} markerEnd={`url(#arrow-${tone})`} />
      <rect className="plate" x={edge.x - labelSize.width / 2} y={edge.y - labelSize.height / 2} width={labelSize.width} height={labelSize.height} rx="4" />
      <Used row={row} x={edge.x - labelSize.width / 2 + 6} y={edge.y + (fault ? -2 : 4)} width={labelSize.width - 12} />
      <text x={edge.x} y={edge.y - 6} textAnchor="middle">{row.with_budget === 0 ? "no budget" : `${formatSeconds(row.handed_p50_s)}, used ${formatSeconds(row.used_p50_s)}`}</text>
      {fault && <text className="fault" x={edge.x} y={edge.y + 15} textAnchor="middle">{fault}</text>}
    </a>
  );
}

/** The part of the budget that is used, as a bar. */
function Used({ row, x, y, width }: { row: PropagationRow; x: number; y: number; width: number }) {
  const { handed_p50_s: handed, used_p50_s: used } = row;
  if (handed === null || used === null || handed <= 0) return null;
  const share = Math.min(1, used / handed);
  return (
    <>
      <rect className="track" x={x} y={y} width={width} height="4" rx="1" />
      <rect className={used > handed ? "over" : "used"} x={x} y={y} width={Math.max(1, share * width)} height="4" rx="1" />
    </>
  );
}
