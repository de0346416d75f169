import { useCallback, useMemo, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { ApiError } from "../api/client.ts";
import { useStatement, useTrace } from "../api/queries.ts";
import type { Line, Statement, Trace } from "../api/shapes.ts";
import { useKeys } from "../components/keys.ts";
import { Ledger } from "../components/Ledger.tsx";
import { SpanDetail } from "../components/SpanDetail.tsx";
import { Failure, Loading } from "../components/States.tsx";
import { TraceHead } from "../components/TraceHead.tsx";
import { mostPrintedSpans, Waterfall } from "../components/Waterfall.tsx";
import { assignColours } from "../model/colours.ts";
import { shortID } from "../model/ids.ts";
import { formatCount } from "../model/seconds.ts";
import { readAccount, violationSpans } from "../model/statement.ts";
import { clampRange, extent, type Range } from "../model/timeline.ts";
import { buildForest, parents, visibleNodes, type Node } from "../model/tree.ts";
import { drawOn, requestRange, wholeRange } from "../model/view.ts";

export function TracePage({ id }: { id: string }) {
  const [query] = useSearchParams();
  const entry = query.get("entry") ?? "";
  const trace = useTrace(id);
  const statement = useStatement(id, entry);
  if (trace.isPending || statement.isPending) return <Loading what="the trace" rows={14} />;
  if (!trace.data && !statement.data) return <Unavailable id={id} error={trace.error ?? new Error("no answer")} retry={() => { void trace.refetch(); void statement.refetch(); }} />;
  return (
    <>
      <title>{`${statement.data ? `${statement.data.service} ${statement.data.route}` : shortID(id)} · Laxity`}</title>
      <Loaded id={id} trace={trace.data} statement={statement.data} problem={statement.data ? trace.error : statement.error} />
    </>
  );
}

function Unavailable({ id, error, retry }: { id: string; error: Error; retry: () => void }) {
  const ways = <Link className="button" href="/search">Search traces</Link>;
  if (error instanceof ApiError && error.status === 404) {
    return <Failure error={new ApiError(404, "This trace is not stored", error.detail || id, error.advice || "It may not have arrived yet, or its retention is over. Spans show within seconds of being sent.")} retry={retry} ways={ways} />;
  }
  return <Failure error={error} retry={retry} ways={ways} />;
}

/** What is selected and shown lives in the URL, so that a link shows the same. */
function useSelection(statement: Statement | undefined) {
  const [query, setQuery] = useSearchParams();
  const number = Number(query.get("line") ?? NaN);
  const line = statement?.lines.find((candidate) => candidate.n === number) ?? null;
  const span = line?.span_id || query.get("span") || "";
  const change = (changes: Record<string, string>) =>
    setQuery((current) => {
      const next = new URLSearchParams(current);
      for (const [name, value] of Object.entries(changes)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      return next;
    }, { replace: true });
  return {
    line, span, view: query.get("view") === "waterfall" ? ("waterfall" as const) : ("ledger" as const),
    selectLine: (chosen: Line) => change({ line: String(chosen.n), span: "" }),
    selectSpan: (chosen: string) => {
      const lines = statement?.lines.filter((candidate) => candidate.span_id === chosen) ?? [];
      const best = lines.find((candidate) => candidate.kind === "orphan" || candidate.kind === "post_cancel") ?? lines.find((candidate) => candidate.kind !== "opening");
      change({ line: best ? String(best.n) : "", span: best ? "" : chosen });
    },
    clear: () => change({ line: "", span: "" }),
    setView: (view: "ledger" | "waterfall") => change({ view: view === "ledger" ? "" : view }),
    drawAccount: (entry: string) => change({ entry, line: "", span: "" }),
  };
}

interface LoadedProps {
  id: string;
  trace: Trace | undefined;
  statement: Statement | undefined;
  problem: Error | null;
}

function Loaded({ id, trace, statement, problem }: LoadedProps) {
  const selection = useSelection(statement);
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const [zoomed, setZoomed] = useState<Range | null>(null);
  const forest = useMemo(() => buildForest(trace?.spans ?? []), [trace]);
  const all = useMemo(() => visibleNodes(forest, new Set()), [forest]);
  const nodes = useMemo(() => (collapsed.size === 0 ? all : visibleNodes(forest, collapsed)), [forest, all, collapsed]);
  const drawn = useMemo(() => (trace && statement ? drawOn(trace, statement) : null), [trace, statement]);
  const account = useMemo(() => (statement ? readAccount(statement) : null), [statement]);
  const colours = useMemo(() => assignColours([...all.map((node) => node.span?.service ?? ""), ...(statement?.lines.map((line) => line.peer || line.service || "") ?? [])].filter(Boolean)), [all, statement]);
  const colourOf = useCallback((service: string) => colours.get(service) ?? "var(--ink-2)", [colours]);

  const whole = wholeRange(drawn, extent(all));
  const request = drawn ? requestRange(drawn, whole) : whole;
  const tiny = (request.to - request.from) / (whole.to - whole.from) < 0.02;
  // A request too short to be seen beside what came later is shown alone, if it had a budget to be looked at.
  const range = zoomed ?? (tiny && drawn?.deadline !== null ? request : whole);
  const isWhole = range.from === whole.from && range.to === whole.to;

  const toggle = (node: Node) => setCollapsed((current) => {
    const next = new Set(current);
    if (!next.delete(node.key)) next.add(node.key);
    return next;
  });
  const collapseAll = () => setCollapsed(new Set(parents(forest).map((node) => node.key)));
  const reveal = (span: string) => {
    const node = all.find((candidate) => candidate.spanID === span);
    setCollapsed((current) => {
      const next = new Set(current);
      for (let up = node?.parent ?? null; up; up = up.parent) next.delete(up.key);
      return next.size === current.size ? current : next;
    });
    selection.selectSpan(span);
  };
  const pane = selection.view;
  const lines = account ? [...account.inside, ...account.outside] : [];
  const move = (by: number) => {
    if (pane === "ledger" && lines.length > 0) {
      const at = lines.findIndex((line) => line.n === selection.line?.n);
      const next = lines[clampIndex(at < 0 ? (by > 0 ? 0 : lines.length - 1) : at + by, lines.length)];
      if (next) selection.selectLine(next);
    } else {
      const at = nodes.findIndex((node) => node.spanID === selection.span);
      const next = nodes[clampIndex(at + by, nodes.length)];
      if (next) selection.selectSpan(next.spanID);
    }
  };
  const jump = (by: number) => {
    const violations = statement ? violationSpans(statement) : [];
    if (violations.length === 0) return;
    const at = violations.indexOf(selection.span);
    const next = at < 0 ? (by > 0 ? 0 : violations.length - 1) : (at + by + violations.length) % violations.length;
    reveal(violations[next] ?? "");
  };
  useKeys({
    j: () => move(1), k: () => move(-1), n: () => jump(1), p: () => jump(-1),
    l: () => selection.setView(pane === "ledger" ? "waterfall" : "ledger"),
    "[": collapseAll, "]": () => setCollapsed(new Set()),
    z: () => setZoomed(isWhole ? request : whole),
    Escape: selection.clear,
  });

  const selectedNode = selection.span ? all.find((node) => node.spanID === selection.span) : undefined;
  const shape = !trace ? " ledger-only" : !statement ? " waterfall-only" : "";
  return (
    <>
      <TraceHead id={id} trace={trace} statement={statement} selected={selection.span} showSpan={reveal} drawAccount={selection.drawAccount} />
      {problem && <div className="notice bad" role="alert">{statement ? "The spans could not be read" : "The statement could not be drawn up"}: {problem.message}</div>}
      {trace && statement && (
        <div className="pane-tabs" role="group" aria-label="What is shown">
          <button type="button" className="button" aria-pressed={pane === "ledger"} onClick={() => selection.setView("ledger")}>Statement</button>
          <button type="button" className="button" aria-pressed={pane === "waterfall"} onClick={() => selection.setView("waterfall")}>Waterfall</button>
        </div>
      )}
      <div className={`trace-body${shape}`}>
        {trace && (
          <section className={`panel pane${pane === "waterfall" || !statement ? " active" : ""}${nodes.length > mostPrintedSpans ? " unprinted" : ""}`} aria-label="Waterfall">
            <div className="pane-bar">
              <h2>Waterfall</h2>
              <button type="button" className="button" onClick={() => setCollapsed(collapsed.size > 0 ? new Set() : new Set(parents(forest).map((node) => node.key)))}>{collapsed.size > 0 ? "Expand all" : "Collapse all"}</button>
              {drawn && <button type="button" className="button" aria-pressed={isWhole} onClick={() => setZoomed(whole)}>Whole trace</button>}
              {drawn && <button type="button" className="button" aria-pressed={range.from === request.from && range.to === request.to} onClick={() => setZoomed(request)}>Request</button>}
            </div>
            <Waterfall
              nodes={nodes} drawn={drawn} range={range} zoom={(next) => setZoomed(clampRange(next, { from: Math.min(whole.from, request.from), to: Math.max(whole.to, request.to) }))} colourOf={colourOf} collapsed={collapsed} toggle={toggle}
              selected={selection.span} selectedLine={selection.line?.n ?? null} select={(node) => selection.selectSpan(node.spanID)}
            />
            {selectedNode?.span
              ? <SpanDetail
                  span={selectedNode.span} origin={drawn?.origin ?? 0} lines={drawn?.lines.get(selection.span) ?? []} findings={drawn?.findings.get(selection.span) ?? []}
                  isEntry={statement?.entry_span_id === selection.span} select={selection.selectLine} drawAccount={() => selection.drawAccount(selection.span)} close={selection.clear}
                />
              : <Key budget={drawn?.opening !== null && drawn !== null} />}
          </section>
        )}
        {account && statement && (
          <section className={`panel pane${pane === "ledger" || !trace ? " active" : ""}`} aria-label="Statement">
            <div className="pane-bar"><h2>Statement of account</h2><span className="quiet small">{formatCount(statement.lines.length)} lines</span></div>
            <Ledger
              account={account} opening={statement.opening_s} colourOf={colourOf} selected={selection.line?.n ?? null}
              select={selection.selectLine} showSpan={(span) => { reveal(span); selection.setView("waterfall"); }}
            />
          </section>
        )}
      </div>
    </>
  );
}

function clampIndex(at: number, length: number): number {
  return Math.max(0, Math.min(length - 1, at));
}

function Key({ budget }: { budget: boolean }) {
  return (
    <div className="wf-key" aria-hidden="true">
      <span><svg width="22" height="12"><path className="wf-path" d="M1 3h9v7h11" /></svg>{budget ? "the budget running down" : "what was waited for"}</span>
      {budget && <span><i style={{ borderLeft: "2px dashed var(--bad)", width: 6 }} />deadline</span>}
      <span><i className="wf-bar over" />beyond its parent</span>
      <span><i className="wf-bar orphan" />orphan or after cancellation</span>
    </div>
  );
}
