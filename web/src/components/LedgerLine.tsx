import type { Line } from "../api/shapes.ts";
import { formatColumn, formatSeconds, type Scale } from "../model/seconds.ts";
import { roleOf } from "../model/statement.ts";
import { grade, kindName, remarks } from "../model/words.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Grade } from "./Grade.tsx";
import { Icon } from "./Icon.tsx";
import type { Position } from "./Ledger.tsx";

interface Props {
  position: Position;
  rowIndex: number;
  line: Line;
  scale: Scale;
  opening: number | null;
  colour: string;
  selected: boolean;
  select: () => void;
  showSpan: (span: string) => void;
}

export function LedgerLine({ position, rowIndex, line, scale, opening, colour, selected, select, showSpan }: Props) {
  const role = roleOf(line.kind);
  const balance = line.balance_s ?? null;
  return (
    <div className={`ledger-row ${line.kind}${selected ? " selected" : ""}`} role="row" aria-rowindex={rowIndex} aria-current={selected || undefined} {...position} onClick={select}>
      <div className="ledger-line" role="presentation">
        <span className="num at" role="cell">{formatColumn(line.at_s, scale)}</span>
        <div role="cell">
          <div className="say">
            {role === "debit" && <span className="swatch" style={{ background: colour }} />}
            {role === "outside" && <span className={line.kind === "orphan" ? "bad" : "quiet"}><Icon name={line.kind === "orphan" ? "error" : "info"} /> </span>}
            {line.text || kindName(line.kind)}
          </div>
          <div className="meta">
            {role !== "memo" && <span>{kindName(line.kind)}{between(line)}</span>}
            <Grade evidence={line.evidence} inferred={line.inferred} />
            {remarks(line).map((remark) => <span key={remark}>{remark}</span>)}
          </div>
        </div>
        <span className={`num${line.kind === "orphan" ? " bad" : ""}`} role="cell">{amount(line, role, scale)}</span>
        {opening !== null && <span className={`num${balance !== null && balance < 0 ? " bad" : ""}`} role="cell">{role === "outside" ? "" : formatColumn(balance, scale)}</span>}
        {selected && <More line={line} showSpan={showSpan} />}
      </div>
      {role !== "outside" && balance !== null && !!opening && (
        <span className={`ledger-balance${balance < 0 ? " over" : ""}`} style={{ width: `${Math.min(1, Math.abs(balance) / opening) * 100}%` }} aria-hidden="true" />
      )}
    </div>
  );
}

function amount(line: Line, role: string, scale: Scale): string {
  if (line.kind === "opening" || line.kind === "closing" || (role === "memo" && line.amount_s === 0)) return "";
  return formatColumn(role === "debit" && line.amount_s ? -line.amount_s : line.amount_s, scale);
}

function between(line: Line): string {
  if (line.peer && line.peer !== line.service) return `, ${line.service} to ${line.peer}`;
  return line.service ? `, ${line.service}` : "";
}

function More({ line, showSpan }: { line: Line; showSpan: (span: string) => void }) {
  const facts: [string, number | null | undefined][] = [
    ["Took", line.duration_s],
    ["Remaining before", line.remaining_before_s],
    ["Remaining after", line.remaining_after_s],
    ["At the other side", line.peer_s],
    ["Between the two", line.between_s],
    ["By the two clocks", line.estimate_s],
  ];
  const known = facts.filter(([, value]) => value !== null && value !== undefined);
  const evidence = grade(line.evidence);
  return (
    <div className="ledger-more" role="cell">
      <dl>
        {known.map(([name, value]) => <div key={name} style={{ display: "contents" }}><dt>{name}</dt><dd>{formatSeconds(value)}</dd></div>)}
        {evidence?.meaning && <><dt>Evidence</dt><dd>{evidence.name}: {evidence.meaning}</dd></>}
        {line.included_in && <><dt>Counted in</dt><dd>the line of span <span className="mono">{line.included_in}</span></dd></>}
      </dl>
      <div className="actions" onClick={(event) => event.stopPropagation()}>
        {line.span_id && <button type="button" className="button" onClick={() => showSpan(line.span_id ?? "")}>Show the span</button>}
        <CopyButton label="Copy link to this line" text={() => window.location.href} />
      </div>
    </div>
  );
}
