import { curveMonotoneX, line } from "d3-shape";
import { useMemo, useRef, type MouseEvent } from "react";
import { Link, useLocation } from "wouter";
import type { PropagationRow } from "../api/shapes.ts";
import { callersOf, clip, edgeText, flowOf, labelSize, type FlowEdge } from "../model/flow.ts";
import { useWidth } from "./width.ts";

interface Props {
  rows: readonly PropagationRow[];
  pathOf: (row: PropagationRow) => string;
}

// With less room than this a map shows two services at a time.
const leastWidth = 600;

/** Who hands what to whom. Each edge says how much budget arrives and how much of it is used; faults are marked on it. */
export function FlowMap({ rows, pathOf }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  return <div ref={box}>{width >= leastWidth ? <Drawn rows={rows} pathOf={pathOf} width={width} /> : width > 0 && <Listed rows={rows} pathOf={pathOf} />}</div>;
}

function Drawn({ rows, pathOf, width }: Props & { width: number }) {
  const flow = useMemo(() => flowOf(rows), [rows]);
  return (
    <>
      <div className="flow" tabIndex={0} role="region" aria-label="Service map">
        <svg width={flow.width} height={flow.height} viewBox={`0 0 ${flow.width} ${flow.height}`} role="group" aria-label="Services and the budget they hand down">
          <defs>
            {["ink-2", "bad", "warn"].map((tone) => (
              <marker key={tone} id={`arrow-${tone}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8Z" fill={`var(--${tone})`} /></marker>
            ))}
          </defs>
          {flow.edges.map((edge, i) => <Edge key={i} edge={edge} path={pathOf(edge.row)} />)}
          {flow.nodes.map((node) => (
            <g key={node.name} className="flow-node" transform={`translate(${node.x - node.width / 2} ${node.y - node.height / 2})`}>
              <rect width={node.width} height={node.height} rx="6" />
              <text x={node.width / 2} y={node.height / 2} dy="0.35em" textAnchor="middle">{clip(node.name)}{clip(node.name) !== node.name && <title>{node.name}</title>}</text>
            </g>
          ))}
        </svg>
      </div>
      {flow.width > width && <p className="quiet small">The map goes on to the right; scroll in it, or with the arrow keys.</p>}
      {flow.left > 0 && <p className="quiet small">{flow.left} more edges are in the table.</p>}
    </>
  );
}

const mostListed = 30;

function Listed({ rows, pathOf }: Props) {
  const callers = useMemo(() => callersOf(rows), [rows]);
  const shown = callers.slice(0, mostListed);
  return (
    <>
      <ul className="flow-list">
        {shown.map(({ from, rows: calls }) => (
          <li key={from}>
            <h3><bdi>{from}</bdi> calls</h3>
            <ul>{calls.map((row) => <li key={row.to}><Call row={row} path={pathOf(row)} /></li>)}</ul>
          </li>
        ))}
      </ul>
      {callers.length > shown.length && <p className="quiet small">{callers.length - shown.length} more callers are in the table.</p>}
    </>
  );
}

function Call({ row, path }: { row: PropagationRow; path: string }) {
  const { tone, handed, share, fault, said } = edgeText(row);
  return (
    <Link href={path} className={tone} aria-label={said}>
      <span className="name">→ {row.from === row.to ? "itself" : <bdi>{row.to}</bdi>}</span>
      <span className="num small">{handed}</span>
      {share !== null && <span className="bar"><i className={share > 1 ? "over" : undefined} style={{ width: `${Math.min(1, share) * 100}%` }} /></span>}
      {fault && <span className={`fault small ${tone}`}>{fault}</span>}
    </Link>
  );
}

const straight = line<{ x: number; y: number }>().x((point) => point.x).y((point) => point.y);
const bent = line<{ x: number; y: number }>().x((point) => point.x).y((point) => point.y).curve(curveMonotoneX);

function Edge({ edge, path }: { edge: FlowEdge; path: string }) {
  const [, navigate] = useLocation();
  const { tone, handed, share, fault, said } = edgeText(edge.row);
  const shape = (edge.loop ? straight : bent)(edge.points) ?? "";
  const go = (event: MouseEvent) => {
    event.preventDefault();
    navigate(path);
  };
  // Without a fault there is a line less to make room for.
  const height = labelSize.height - (fault ? 0 : 12);
  const width = labelSize.width - 12;
  return (
    <a className={`flow-edge ${tone}`} href={path} aria-label={said} onClick={go}>
      <title>{said}</title>
      <path className="reach" d={shape} />
      <path className={`shaft${edge.row.with_budget === 0 ? " none" : ""}`} d={shape} markerEnd={`url(#arrow-${tone})`} />
      <rect className="plate" x={edge.x - labelSize.width / 2} y={edge.y - labelSize.height / 2} width={labelSize.width} height={height} rx="4" />
      {share !== null && (
        <>
          <rect className="track" x={edge.x - width / 2} y={edge.y + (fault ? -2 : 2)} width={width} height="4" rx="1" />
          <rect className={share > 1 ? "over" : "used"} x={edge.x - width / 2} y={edge.y + (fault ? -2 : 2)} width={Math.max(1, Math.min(1, share) * width)} height="4" rx="1" />
        </>
      )}
      <text x={edge.x} y={edge.y - 6} textAnchor="middle">{handed}</text>
      {fault && <text className="fault" x={edge.x} y={edge.y + 15} textAnchor="middle">{fault}</text>}
    </a>
  );
}
