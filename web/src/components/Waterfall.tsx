import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { extent, ticks, type Range } from "../model/timeline.ts";
import type { Node } from "../model/tree.ts";
import type { Drawn } from "../model/view.ts";
import { formatSeconds } from "../model/seconds.ts";
import { BurnDown } from "./BurnDown.tsx";
import { Minimap } from "./Minimap.tsx";
import { usePrinting } from "./printing.ts";
import { TimeAxis } from "./TimeAxis.tsx";
import { WaitedPath } from "./WaitedPath.tsx";
import { WaterfallRow } from "./WaterfallRow.tsx";

export const rowHeight = 26;

/** Beyond that a waterfall is left out on paper. */
export const mostPrintedSpans = 120;
const stripHeight = 96;
// From so many rows on the whole no longer shows at a glance.
const manyRows = 100;

interface Props {
  nodes: readonly Node[];
  drawn: Drawn | null;
  range: Range;
  zoom: (range: Range) => void;
  colourOf: (service: string) => string;
  collapsed: ReadonlySet<string>;
  toggle: (node: Node) => void;
  selected: string;
  selectedLine: number | null;
  select: (node: Node) => void;
}

/** The spans over time. Bars are never cut to their parents; the budget falls through them along the waited path. */
export function Waterfall({ nodes, drawn, range, zoom, colourOf, collapsed, toggle, selected, selectedLine, select }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const [tree, setTree] = useState(() => (window.innerWidth < 720 ? 150 : 300));
  const printing = usePrinting();
  const rows = useVirtualizer({
    count: nodes.length, getScrollElement: () => scroll.current, estimateSize: () => rowHeight, overscan: printing ? mostPrintedSpans : 12,
    scrollMargin: stripHeight, scrollPaddingStart: stripHeight + rowHeight, scrollPaddingEnd: rowHeight,
  });
  const indexOf = useMemo(() => new Map(nodes.map((node, i) => [node.spanID, i])), [nodes]);
  const index = indexOf.get(selected) ?? -1;
  useEffect(() => {
    if (index >= 0) rows.scrollToIndex(index, { align: "auto" });
  }, [index, rows]);

  const origin = drawn?.origin ?? 0;
  const marks = ticks(range, origin, 5);
  const at = (time: number) => `${((time - range.from) / (range.to - range.from)) * 100}%`;
  const shown = rows.getVirtualItems();
  const move = (by: number) => {
    const next = nodes[Math.min(nodes.length - 1, Math.max(0, index + by))];
    if (next) select(next);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const node = nodes[index];
    const act: Record<string, (() => void) | undefined> = {
      ArrowDown: () => move(1), ArrowUp: () => move(-1),
      ArrowRight: node && collapsed.has(node.key) ? () => toggle(node) : undefined,
      ArrowLeft: node && !collapsed.has(node.key) && node.children.length > 0 ? () => toggle(node) : undefined,
    };
    const chosen = act[event.key];
    if (!chosen) return;
    event.preventDefault();
    chosen();
  };
  const whole = useMemo(() => extent(nodes), [nodes]);
  return (
    <>
    {nodes.length >= manyRows && <Minimap nodes={nodes} whole={whole} first={shown[0]?.index ?? 0} last={shown.at(-1)?.index ?? 0} range={range} colourOf={colourOf} go={(row) => rows.scrollToIndex(row, { align: "center" })} />}
    <div className="pane-scroll wf" ref={scroll} style={{ "--tree": `${tree}px` } as React.CSSProperties}>
      <div className="wf-head">
        <div className="wf-head-name">
          <Splitter width={tree} resize={setTree} />
          <span>{drawn?.opening !== null && drawn ? "Balance" : "Time spent"}</span>
          <span>Service and operation</span>
        </div>
        <TimeAxis range={range} zoom={zoom}>
          {marks.filter((mark) => mark < range.to - (range.to - range.from) * 0.05).map((mark) => <span key={mark} className="tick" style={{ left: at(mark) }}>{Math.abs(mark - origin) < 1e-12 ? "0" : formatSeconds(mark - origin)}</span>)}
          {drawn && <BurnDown charges={drawn.charges} origin={origin} range={range} opening={drawn.opening} closing={drawn.closing} colourOf={colourOf} selectedLine={selectedLine} />}
          {drawn && drawn.deadline !== null && <DeadlineLabel at={(drawn.deadline - range.from) / (range.to - range.from)} />}
        </TimeAxis>
      </div>
      <div className="wf-rows" role="tree" aria-label="Spans" tabIndex={0} onKeyDown={onKeyDown} style={{ height: rows.getTotalSize() }} {...(index >= 0 ? { "aria-activedescendant": `span-${index}` } : {})}>
        <div className="wf-overlay" role="presentation">
          {drawn && drawn.deadline !== null && <div className="late-zone" style={{ left: at(drawn.deadline), width: `max(0px, ${at(range.from + Math.max(0, drawn.answer - drawn.deadline))})` }} />}
          {drawn && drawn.deadline !== null && <div className="deadline" style={{ left: at(drawn.deadline) }} />}
          {drawn && <div className="answer" style={{ left: at(drawn.answer) }} />}
          {drawn && <WaitedPath charges={drawn.charges} origin={origin} range={range} nodes={nodes} indexOf={indexOf} first={shown[0]?.index ?? 0} last={shown.at(-1)?.index ?? 0} />}
        </div>
        {shown.map((item) => {
          const node = nodes[item.index] as Node;
          return (
            <WaterfallRow
              key={node.key} id={`span-${item.index}`} top={item.start - stripHeight} node={node} range={range} colour={colourOf(node.span?.service ?? "")}
              lines={drawn?.lines.get(node.spanID)} findings={drawn?.findings.get(node.spanID)} hidden={collapsed.has(node.key)}
              selected={item.index === index} select={() => select(node)} toggle={() => toggle(node)}
            />
          );
        })}
      </div>
    </div>
    </>
  );
}

function DeadlineLabel({ at }: { at: number }) {
  if (at < 0 || at > 1) return null;
  const side = at > 0.7 ? { right: `${(1 - at) * 100}%` } : { left: `${at * 100}%` };
  return (
    <>
      <span style={{ position: "absolute", top: 0, bottom: 0, left: `${at * 100}%`, borderLeft: "2px dashed var(--bad)", pointerEvents: "none" }} />
      <span className="burn-label bad" style={{ ...side, top: 3, margin: "0 4px" }}>deadline</span>
    </>
  );
}

function Splitter({ width, resize }: { width: number; resize: (width: number) => void }) {
  const limit = (value: number) => Math.min(640, Math.max(110, value));
  const drag = (event: React.PointerEvent<HTMLDivElement>) => {
    const start = event.clientX - width;
    const target = event.currentTarget;
    target.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent) => resize(limit(moved.clientX - start));
    target.addEventListener("pointermove", move);
    target.addEventListener("lostpointercapture", () => target.removeEventListener("pointermove", move), { once: true });
  };
  const key = (event: React.KeyboardEvent) => {
    const by = { ArrowLeft: -20, ArrowRight: 20 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    resize(limit(width + by));
  };
  return <div className="wf-split" role="separator" aria-orientation="vertical" aria-label="Width of the names" aria-valuenow={width} aria-valuemin={110} aria-valuemax={640} tabIndex={0} onPointerDown={drag} onKeyDown={key} />;
}
