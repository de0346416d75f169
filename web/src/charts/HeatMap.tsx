import { Link } from "wouter";
import { zone } from "../components/settings.ts";
import type { Cell, Heat } from "../model/heat.ts";
import { formatSeconds } from "../model/seconds.ts";
import { tickText } from "./timeScale.ts";

/** Requests by time and margin, the darker the more. Those below the line are late. */
export function HeatMap({ heat, pathOf }: { heat: Heat; pathOf: (cell: Cell) => string }) {
  const shown = zone.use();
  const zero = heat.bounds.indexOf(0);
  const ticks = Array.from({ length: 7 }, (_, i) => heat.from + ((heat.to - heat.from) * i) / 6);
  return (
    <figure className="heat" style={{ "--rows": heat.rows, "--columns": heat.columns } as React.CSSProperties}>
      <div className="heat-bounds" aria-hidden="true">{heat.bounds.map((bound, i) => (i % Math.ceil(heat.bounds.length / 7) === 0 || bound === 0 ? <span key={bound} style={{ top: `${(i / heat.rows) * 100}%` }}>{formatSeconds(bound)}</span> : null))}</div>
      <div className="heat-plane">
        {heat.cells.map((cell) => (
          <Link
            key={`${cell.row} ${cell.column}`} href={pathOf(cell)} className={cell.high <= 0 ? "late" : undefined} tabIndex={cell.count === heat.most || cell.high <= 0 ? 0 : -1}
            aria-label={`${cell.count} with ${formatSeconds(cell.low)} to ${formatSeconds(cell.high)}`} title={`${cell.count} with ${formatSeconds(cell.low)} to ${formatSeconds(cell.high)}: open these traces`}
            style={{ gridRow: cell.row + 1, gridColumn: cell.column + 1, opacity: 0.25 + 0.75 * Math.sqrt(cell.count / heat.most) }}
          />
        ))}
        <i className="zero" style={{ top: `${(zero / heat.rows) * 100}%` }} />
      </div>
      <div className="heat-times" aria-hidden="true">{ticks.map((tick) => <span key={tick}>{tickText(new Date(tick), shown, heat.to - heat.from)}</span>)}</div>
    </figure>
  );
}
