import type { Finding, Line } from "../api/shapes.ts";
import { formatSeconds } from "../model/seconds.ts";
import { cutBar, position, type Range } from "../model/timeline.ts";
import type { Node } from "../model/tree.ts";
import { ruleName } from "../model/words.ts";
import { Icon } from "./Icon.tsx";

interface Props {
  id: string;
  top: number;
  node: Node;
  range: Range;
  colour: string;
  lines: readonly Line[] | undefined;
  findings: readonly Finding[] | undefined;
  hidden: boolean;
  selected: boolean;
  select: () => void;
  toggle: () => void;
}

export function WaterfallRow({ id, top, node, range, colour, lines, findings, hidden, selected, select, toggle }: Props) {
  const { span } = node;
  const name = span ? `${span.service} ${span.name}` : `Missing parent ${node.spanID}`;
  return (
    <div
      id={id} role="treeitem" aria-level={node.depth + 1} aria-selected={selected} className={`wf-row${selected ? " selected" : ""}`}
      aria-label={`${name}, ${formatSeconds(node.end - node.start)}`} {...(node.children.length > 0 ? { "aria-expanded": !hidden } : {})}
      style={{ transform: `translateY(${top}px)` }} onClick={select}
    >
      <div className="wf-name" style={{ paddingLeft: 4 + Math.min(node.depth, 16) * 12 }} title={name}>
        <span className="wf-toggle" onClick={(event) => { event.stopPropagation(); if (node.children.length > 0) toggle(); }}>
          {node.children.length > 0 && <Icon name={hidden ? "closed" : "open"} />}
        </span>
        <span className="wf-swatch" style={{ background: span ? colour : "var(--rule-strong)" }} />
        <Marks node={node} findings={findings} />
        <span className="text">
          {span ? <><bdi className="service">{span.service}</bdi> <bdi className="operation">{span.name}</bdi></> : <span className="operation">Missing parent, {node.children.length} below</span>}
        </span>
        {hidden && <span className="quiet small">+{node.descendants}</span>}
      </div>
      <div className="wf-bars"><Bars node={node} range={range} colour={colour} lines={lines} /></div>
    </div>
  );
}

function Marks({ node, findings }: { node: Node; findings: readonly Finding[] | undefined }) {
  const worst = findings?.find((finding) => finding.severity === "error") ?? findings?.find((finding) => finding.severity === "warn");
  if (worst) return <span className={worst.severity === "error" ? "bad" : "warn"}><Icon name={worst.severity === "error" ? "error" : "warn"} label={ruleName(worst.rule)} /></span>;
  if (node.span?.status === "Error") return <span className="bad"><Icon name="errorBelow" label="This span failed" /></span>;
  return null;
}

function Bars({ node, range, colour, lines }: Pick<Props, "node" | "range" | "colour" | "lines">) {
  const bar = cutBar(node);
  const place = (part: Range) => {
    const from = Math.max(-0.01, position(range, part.from));
    const to = Math.min(1.01, position(range, part.to));
    return { left: `${from * 100}%`, width: `${Math.max(0, to - from) * 100}%`, "--c": colour } as React.CSSProperties;
  };
  const within = (part: Range | null): part is Range => part !== null && part.to >= range.from && part.from <= range.to;
  const orphan = lines?.find((line) => line.kind === "orphan") ?? lines?.find((line) => line.kind === "post_cancel");
  const detached = lines?.some((line) => line.kind === "detached");
  const afterEnd = orphan ? { from: Math.max(node.start, node.end - (orphan.amount_s)), to: node.end } : null;
  return (
    <>
      {within(bar.inside) && <span className={`wf-bar${node.span ? "" : " stand-in"}${detached ? " detached" : ""}`} style={place(bar.inside)} />}
      {within(bar.before) && <span className="wf-bar over" style={place(bar.before)} />}
      {within(bar.after) && <span className={detached ? "wf-bar detached" : "wf-bar over"} style={place(bar.after)} />}
      {within(afterEnd) && <span className="wf-bar orphan" style={place(afterEnd)} />}
      <Label node={node} range={range} orphan={orphan} over={bar.after} />
    </>
  );
}

function Label({ node, range, orphan, over }: { node: Node; range: Range; orphan: Line | undefined; over: Range | null }) {
  const from = position(range, node.start);
  const to = position(range, node.end);
  const text = (
    <>
      {formatSeconds(node.end - node.start)}
      {orphan ? <b> · {orphan.kind === "orphan" ? "orphan" : "after cancel"} {formatSeconds(orphan.amount_s)}</b> : over && over.to > over.from ? (over.from === node.start ? " · after its parent" : ` · ${formatSeconds(over.to - over.from)} past its parent`) : ""}
    </>
  );
  if (to < 0) return <span className="wf-beyond" style={{ left: 2 }} title="Before what is shown">◂</span>;
  if (from > 1) return <span className="wf-beyond" style={{ right: 2 }} title="After what is shown">▸</span>;
  if (to < (orphan || over ? 0.7 : 0.9)) return <span className="wf-label" style={{ left: `${to * 100}%` }}>{text}</span>;
  if (from > 0.28) return <span className="wf-label" style={{ right: `${(1 - from) * 100}%` }}>{text}</span>;
  return <span className="wf-label within" style={{ right: `${Math.max(1, (1 - to) * 100 + 1)}%` }}>{text}</span>;
}
