import { waitedPath } from "../model/path.ts";
import type { Charge } from "../model/statement.ts";
import { position, type Range } from "../model/timeline.ts";
import type { Node } from "../model/tree.ts";
import { rowHeight } from "./Waterfall.tsx";

interface Props {
  charges: readonly Charge[];
  origin: number;
  range: Range;
  nodes: readonly Node[];
  indexOf: ReadonlyMap<string, number>;
  first: number;
  last: number;
}

/** The budget line: it runs along the span that time is charged to and drops to the next. Only what is in sight is drawn. */
export function WaitedPath({ charges, origin, range, nodes, indexOf, first, last }: Props) {
  const steps = waitedPath(charges, indexOf, nodes, first - 1, last + 1);
  const x = (at: number) => position(range, origin + at) * 1000;
  const y = (row: number) => (row - first + 1) * rowHeight - 4;
  const height = Math.max(1, (last - first + 1) * rowHeight);
  const along = (over: boolean) =>
    steps.filter((step) => step.over === over).map((step) => `M${x(step.from)} ${y(step.row)}H${x(step.to)}`).join("");
  // A drop to a row out of sight leads the eye nowhere; many of them would hide the bars.
  const seen = (row: number) => row >= first && row <= last;
  const drops = steps.flatMap((step) => (step.next === null || step.next === step.row || !seen(step.row) || !seen(step.next) ? [] : [`M${x(step.to)} ${y(step.row)}V${y(step.next)}`]));
  return (
    <svg viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" style={{ top: first * rowHeight, height }} aria-hidden="true">
      <path className="wf-path drop" d={drops.join("")} opacity={drops.length > 24 ? 0.3 : 0.8} vectorEffect="non-scaling-stroke" />
      <path className="wf-path" d={along(false)} vectorEffect="non-scaling-stroke" />
      <path className="wf-path over" d={along(true)} vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
