import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import type { Line } from "../api/shapes.ts";
import { totalOutside, type Account } from "../model/statement.ts";
import { formatSeconds, scaleFor } from "../model/seconds.ts";
import { LedgerLine } from "./LedgerLine.tsx";
import { usePrinting } from "./printing.ts";

interface Props {
  account: Account;
  opening: number | null;
  colourOf: (service: string) => string;
  selected: number | null;
  select: (line: Line) => void;
  showSpan: (span: string) => void;
}

type Row = Line | "outside";

// Beyond that nobody reads paper; the Markdown has every line.
const mostPrinted = 1000;

/** The statement as an account book: opening, every debit with the running balance, closing, and what lies outside. */
export function Ledger({ account, opening, colourOf, selected, select, showSpan }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useMemo<Row[]>(() => (account.outside.length > 0 ? [...account.inside, "outside", ...account.outside] : account.inside), [account]);
  const scale = scaleFor(account.largest);
  const printing = usePrinting();
  const list = useVirtualizer({
    count: rows.length, getScrollElement: () => scroll.current, estimateSize: () => 54, overscan: printing ? mostPrinted : 8,
    scrollMargin: 32, scrollPaddingStart: 40, scrollPaddingEnd: 60,
    getItemKey: (i) => keyOf(rows[i]),
  });
  const index = rows.findIndex((row) => row !== "outside" && row.n === selected);
  useEffect(() => {
    if (index >= 0) list.scrollToIndex(index, { align: "auto" });
  }, [index, list]);
  return (
    <div className={`pane-scroll ledger${opening === null ? " no-balance" : ""}`} ref={scroll} role="table" aria-label="Statement of account" aria-rowcount={rows.length + 1} tabIndex={0}>
      <div role="rowgroup" className="ledger-head-group" style={{ display: "contents" }}>
        <div className="ledger-head" role="row" aria-rowindex={1}>
          <span role="columnheader" className="num">At</span>
          <span role="columnheader">What</span>
          <span role="columnheader" className="num">Amount, {scale.unit}</span>
          {opening !== null && <span role="columnheader" className="num">Balance, {scale.unit}</span>}
        </div>
      </div>
      <div role="rowgroup" className="ledger-rows" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index] as Row;
          const position = { ref: list.measureElement, "data-index": item.index, style: { transform: `translateY(${item.start - 32}px)` } };
          if (row === "outside") return <OutsideTitle key={item.key} position={position} account={account} rowIndex={item.index + 2} />;
          return (
            <LedgerLine
              key={item.key} position={position} rowIndex={item.index + 2} line={row} scale={scale} opening={opening}
              colour={colourOf(row.peer || row.service || "")} selected={row.n === selected} select={() => select(row)} showSpan={showSpan}
            />
          );
        })}
      </div>
    </div>
  );
}

function keyOf(row: Row | undefined): string | number {
  return row === undefined || row === "outside" ? "outside" : row.n;
}

export interface Position {
  ref: (element: Element | null) => void;
  "data-index": number;
  style: React.CSSProperties;
}

function OutsideTitle({ position, account, rowIndex }: { position: Position; account: Account; rowIndex: number }) {
  const total = totalOutside(account, "orphan");
  const overhang = totalOutside(account, "overhang");
  return (
    <div className="ledger-row outside-title" role="row" aria-rowindex={rowIndex} {...position}>
      <span role="cell">Outside the account{total > 0 && <span className="bad"> · {formatSeconds(total)} of orphan work</span>}{overhang > 0 && <span className="quiet"> · {formatSeconds(overhang)} of overhang, blamed on nobody</span>}</span>
    </div>
  );
}
