import { useRef, useState } from "react";
import { Link } from "wouter";
import { zone } from "../components/settings.ts";
import { neighbour, type Cell, type Heat } from "../model/heat.ts";
import { formatInstant } from "../model/instants.ts";
import { formatCount, formatSeconds } from "../model/seconds.ts";
import { timeTicks } from "./timeScale.ts";
import { useWidth } from "./width.ts";

/** Requests by time and margin, or length, the darker the more. Those below the line are late. A cell leads to its traces; arrow keys walk. */
export function HeatMap({ heat, pathOf }: { heat: Heat; pathOf: (cell: Cell) => string }) {
  const shown = zone.use();
  const plane = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const keyOf = (cell: Cell) => `${cell.row} ${cell.column}`;
  const current = heat.cells.find((cell) => keyOf(cell) === chosen);
  const entered = current ?? heat.cells.find((cell) => cell.requests === heat.most);
  const above = heat.rows - heat.bounds.length + (heat.cells.some((cell) => cell.low_s === null) ? 0 : 1);
  const top = (i: number) => `${((above + i) / heat.rows) * 100}%`;
  const every = Math.ceil(heat.bounds.length / 7);
  const zero = heat.bounds.indexOf(0);
  const width = useWidth(plane);
  return (
    <figure className="heat" style={{ "--rows": heat.rows, "--columns": heat.columns } as React.CSSProperties}>
      <div className="heat-bounds" aria-hidden="true">{heat.bounds.map((bound, i) => ((i - zero) % every === 0 ? <span key={bound} style={{ top: top(i) }}>{formatSeconds(bound)}</span> : null))}</div>
      <div
        className="heat-plane" ref={plane} role="group" aria-label={`${formatCount(heat.total)} requests in ${heat.cells.length} cells; arrow keys walk from cell to cell`}
        onKeyDown={(event) => {
          const next = current && neighbour(heat.cells, current, event.key);
          if (!next) return;
          event.preventDefault();
          plane.current?.querySelector<HTMLElement>(`[data-cell="${keyOf(next)}"]`)?.focus();
        }}
      >
        {heat.cells.map((cell) => (
          <Link
            key={keyOf(cell)} data-cell={keyOf(cell)} href={pathOf(cell)} className={isLate(heat, cell) ? "late" : undefined} tabIndex={cell === entered ? 0 : -1}
            aria-label={cellText(heat, cell)} onFocus={() => setChosen(keyOf(cell))} onPointerEnter={() => setChosen(keyOf(cell))}
            style={{ gridRow: cell.row + 1, gridColumn: cell.column + 1, opacity: 0.25 + 0.75 * Math.sqrt(cell.requests / heat.most) }}
          />
        ))}
        <i className="zero" style={{ top: top(zero) }} />
      </div>
      <div className="heat-times" aria-hidden="true">{width > 0 && timeTicks(heat, width, shown).map(({ at, text }) => <span key={text} style={{ left: `${((at.getTime() - heat.from) / (heat.to - heat.from)) * 100}%` }}>{text}</span>)}</div>
      <figcaption className="heat-cell small">
        {current
          ? <><b>{formatInstant(new Date(current.from).toISOString(), shown).replace(/:\d\d$/, "")}</b> {cellText(heat, current)}: <Link href={pathOf(current)}>open {current.seen === 1 ? "it" : `these ${formatCount(current.seen)} traces`}</Link></>
          : <span className="quiet">Each cell leads to its traces; the darker, the more requests.</span>}
      </figcaption>
    </figure>
  );
}

function isLate(heat: Heat, cell: Cell): boolean {
  return heat.measure === "margin" ? cell.high_s !== null && cell.high_s <= 0 : cell.missed * 2 > cell.requests;
}

function cellText(heat: Heat, { low_s: low, high_s: high, requests, missed }: Cell): string {
  const range = low === null ? `less than ${formatSeconds(high)}` : high === null ? `${formatSeconds(low)} or more` : `${formatSeconds(low)} to ${formatSeconds(high)}`;
  return `${formatCount(requests)} ${requests === 1 ? "request" : "requests"} ${heat.measure === "margin" ? "with" : "took"} ${range}${heat.measure === "margin" ? " left" : ""}${missed > 0 && heat.measure === "duration" ? `, ${formatCount(missed)} missed` : ""}`;
}
