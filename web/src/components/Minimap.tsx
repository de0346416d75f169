import { useEffect, useRef } from "react";
import { position, type Range } from "../model/timeline.ts";
import type { Node } from "../model/tree.ts";
import { theme } from "./settings.ts";

const height = 56;

interface Props {
  nodes: readonly Node[];
  whole: Range;
  /** The rows and the time in sight. */
  first: number;
  last: number;
  range: Range;
  colourOf: (service: string) => string;
  go: (row: number) => void;
}

/** All rows of a long trace at once; a click goes there. Drawn once for each set of rows, whatever is in sight. */
export function Minimap({ nodes, whole, first, last, range, colourOf, go }: Props) {
  const shown = theme.use();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const target = canvas.current;
    const context = target?.getContext("2d");
    if (!target || !context) return;
    const scale = window.devicePixelRatio || 1;
    const width = target.clientWidth;
    target.width = width * scale;
    target.height = height * scale;
    context.scale(scale, scale);
    context.clearRect(0, 0, width, height);
    const known = new Map<string, string>();
    const style = getComputedStyle(target);
    // A canvas knows no variables of the style sheet.
    const resolve = (colour: string) => {
      let value = known.get(colour);
      if (value === undefined) {
        target.style.color = colour;
        value = style.color;
        known.set(colour, value);
      }
      return value;
    };
    // More rows than pixels: every row of pixels shows one of those that fall on it.
    const step = Math.max(1, Math.floor(nodes.length / (height * 2)));
    for (let i = 0; i < nodes.length; i += step) {
      const node = nodes[i] as Node;
      context.fillStyle = resolve(colourOf(node.span?.service ?? ""));
      const x = position(whole, node.start) * width;
      context.fillRect(x, (i / nodes.length) * height, Math.max(1, position(whole, node.end) * width - x), Math.max(1, height / nodes.length));
    }
    target.style.color = "";
  }, [nodes, whole, colourOf, shown]);
  const rowAt = (event: React.PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    go(Math.min(nodes.length - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * nodes.length))));
  };
  const share = (time: number) => Math.min(1, Math.max(0, position(whole, time))) * 100;
  return (
    <div className="minimap" aria-hidden="true" title="The whole trace; click to go there" onPointerDown={(event) => { event.currentTarget.setPointerCapture(event.pointerId); rowAt(event); }} onPointerMove={(event) => event.buttons === 1 && rowAt(event)}>
      <canvas ref={canvas} style={{ height }} />
      <span style={{ top: `${(first / nodes.length) * 100}%`, height: `max(3px, ${((last - first + 1) / nodes.length) * 100}%)`, left: `${share(range.from)}%`, right: `${100 - share(range.to)}%` }} />
    </div>
  );
}
