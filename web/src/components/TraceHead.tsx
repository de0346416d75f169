import { useMemo } from "react";
import type { Statement, Trace } from "../api/shapes.ts";
import { incidentMarkdown } from "../api/queries.ts";
import { url } from "../api/client.ts";
import { cancellationOf } from "../model/cancel.ts";
import { formatInstant } from "../model/instants.ts";
import { formatSeconds } from "../model/seconds.ts";
import { answered, headline, mostlyIn, readAccount, totalOutside } from "../model/statement.ts";
import { sourceName, targetName } from "../model/words.ts";
import { CancelTimeline } from "./CancelTimeline.tsx";
import { CopyButton } from "./CopyButton.tsx";
import { Findings } from "./Findings.tsx";
import { Icon } from "./Icon.tsx";
import { Outcome } from "./Outcome.tsx";
import { zone } from "./settings.ts";

interface Props {
  id: string;
  trace: Trace | undefined;
  statement: Statement | undefined;
  selected: string;
  showSpan: (span: string) => void;
  drawAccount: (entry: string) => void;
}

/** Who, when, how it ended, and what was found, before any detail. */
export function TraceHead({ id, trace, statement, selected, showSpan, drawAccount }: Props) {
  const shown = zone.use();
  const cancellation = useMemo(() => cancellationOf(trace?.spans ?? []), [trace]);
  const origin = trace?.spans.find((span) => span.span_id === statement?.entry_span_id)?.at_s ?? 0;
  const started = statement?.started_at ?? trace?.started_at;
  return (
    <header className="trace-head" data-trace={id}>
      <div className="page-head">
        <div>
          <div className="trace-id">
            <span>Trace <span className="mono">{id}</span></span>
            {started && <span>{formatInstant(started, shown)} {shown === "UTC" ? "UTC" : ""}</span>}
            {trace?.spans.some((span) => span.resource["laxity.sample"] === "true") && <span className="chip" title="Made by the sample services, not by yours">Sample</span>}
            {trace && <span>{trace.spans.length.toLocaleString("en")} {trace.spans.length === 1 ? "span" : "spans"}</span>}
          </div>
          <h1>{statement ? <><bdi>{statement.service}</bdi> · <bdi>{statement.route || "unnamed"}</bdi></> : "Trace"}</h1>
          {statement && (
            <p>
              {headline(statement, formatSeconds)}{" "}
              {statement.spent_in && <button type="button" className="plain as-link" onClick={() => showSpan(statement.spent_in?.span_id ?? "")}>{mostlyIn(statement, formatSeconds)}</button>}
            </p>
          )}
        </div>
        <div className="actions">
          <Entries trace={trace} statement={statement} drawAccount={drawAccount} />
          <CopyButton label="Copy link" text={() => window.location.href} />
          <button type="button" className="button" onClick={() => window.print()}>Print</button>
          <CopyButton label="Copy as Markdown" text={() => incidentMarkdown(id, statement?.entry_span_id ?? "")} />
          <a className="button" href={url(`/traces/${id}/incident`, { format: "json", entry: statement?.entry_span_id })}>JSON</a>
        </div>
      </div>
      {statement && <Figures statement={statement} />}
      <Notices trace={trace} statement={statement} />
      {statement && <Findings statement={statement} selected={selected} show={showSpan} />}
      {cancellation && <CancelTimeline cancellation={cancellation} origin={origin} selected={selected} showSpan={showSpan} />}
    </header>
  );
}

function Entries({ trace, statement, drawAccount }: Pick<Props, "trace" | "statement" | "drawAccount">) {
  const entries = trace?.spans.filter((span) => span.entry) ?? [];
  if (entries.length < 2 || !statement) return null;
  const listed = entries.slice(0, 200);
  return (
    <label>
      <span className="hidden-text">Whose account is drawn</span>
      <select value={statement.entry_span_id} onChange={(event) => drawAccount(event.target.value)} style={{ maxWidth: "18rem" }}>
        {!listed.some((span) => span.span_id === statement.entry_span_id) && <option value={statement.entry_span_id}>{statement.service} {statement.route}</option>}
        {listed.map((span, i) => <option key={i} value={span.span_id}>{span.service} {span.route || span.name}</option>)}
      </select>
    </label>
  );
}

function Figures({ statement }: { statement: Statement }) {
  const { budget } = statement;
  const late = (statement.margin_s ?? 0) < 0;
  const overhang = totalOutside(readAccount(statement), "overhang");
  const asked = budget && budget.requested_s !== null && budget.requested_s !== budget.received_s ? `, asked for ${formatSeconds(budget.requested_s)}` : "";
  return (
    <dl className="figures">
      <div><dt>Budget{budget ? `${budget.source ? `, ${sourceName(budget.source)}` : ""}${asked}${budget.governed_by === "expiry" ? ", cut by an expiry" : ""}` : ""}</dt><dd>{budget ? formatSeconds(budget.received_s) : "none"}</dd></div>
      <div><dt>Spent{answered(statement) ? ` until ${targetName(statement.target)}` : ", not answered"}</dt><dd>{formatSeconds(statement.opening_s !== null && statement.closing_s !== null ? statement.opening_s - statement.closing_s : statement.duration_s)}</dd></div>
      {budget && <div><dt>Margin</dt><dd className={late ? "bad" : undefined}>{formatSeconds(statement.margin_s)}</dd></div>}
      <div><dt>Outcome</dt><dd><Outcome outcome={statement.outcome} kind={statement.class} late={statement.late} /></dd></div>
      {statement.orphan_s > 0 && <div><dt>Orphan work</dt><dd className="bad">{formatSeconds(statement.orphan_s)}</dd></div>}
      {overhang > 0 && <div><dt>Overhang, blamed on nobody</dt><dd>{formatSeconds(overhang)}</dd></div>}
      {statement.post_cancel_s > 0 && <div><dt>After cancellation</dt><dd className="warn">{formatSeconds(statement.post_cancel_s)}</dd></div>}
      {Object.entries(statement.costs).filter(([, value]) => value > 0).map(([unit, value]) => <div key={unit}><dt>{unit} after the end</dt><dd>{value.toLocaleString("en")}</dd></div>)}
    </dl>
  );
}

function Notices({ trace, statement }: { trace: Trace | undefined; statement: Statement | undefined }) {
  const said: string[] = [];
  if (statement && !statement.complete) said.push("Spans of this trace are missing. What arrived is shown; amounts around the gaps may be too small.");
  if (trace?.truncated) said.push(`The trace has more spans than are read at once: the earliest ${trace.spans.length.toLocaleString("en")} are shown and judged.`);
  if (trace?.missing) said.push(trace.missing);
  return said.map((text) => <div key={text} className="notice" role="note"><Icon name="warn" /><span>{text}</span></div>);
}
