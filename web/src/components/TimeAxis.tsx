import { useRef, useState, type ReactNode } from "react";
import type { Range } from "../model/timeline.ts";

/** The axis above the bars. Dragging across it zooms to what was marked. */
export function TimeAxis({ range, zoom, children }: { range: Range; zoom: (range: Range) => void; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [marked, setMarked] = useState<Range | null>(null);
  const share = (event: React.PointerEvent) => {
    const { left, width } = (box.current as HTMLDivElement).getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const finish = () => {
    setMarked(null);
    if (!marked || Math.abs(marked.to - marked.from) < 0.01) return;
    const at = (part: number) => range.from + part * (range.to - range.from);
    zoom({ from: at(Math.min(marked.from, marked.to)), to: at(Math.max(marked.from, marked.to)) });
  };
  return (
    <div
      ref={box} className="wf-axis" title="Drag to zoom"
      onPointerDown={(event) => {
        if (event.pointerType === "touch") return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setMarked({ from: share(event), to: share(event) });
      }}
      onPointerMove={(event) => marked && setMarked({ from: marked.from, to: share(event) })}
      onPointerUp={finish}
      onPointerCancel={() => setMarked(null)}
    >
      {children}
      {marked && <div className="wf-brush" style={{ left: `${Math.min(marked.from, marked.to) * 100}%`, width: `${Math.abs(marked.to - marked.from) * 100}%` }} />}
    </div>
  );
}
