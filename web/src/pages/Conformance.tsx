import type { ConformanceRow } from "../api/shapes.ts";
import type { Column } from "../components/columns.tsx";
import { ReportPage } from "../components/ReportPage.tsx";
import { formatCount, formatRatio } from "../model/seconds.ts";
import { conformanceSentence } from "../model/sentences.ts";

const share = (has: number, of: number) => (of > 0 ? has / of : null);

function fact(key: string, label: string, means: string, has: (row: ConformanceRow) => number, of: (row: ConformanceRow) => number): Column<ConformanceRow> {
  return {
    key, label, means, value: (row) => share(has(row), of(row)), format: "ratio", compares: true,
    tone: (row) => ((share(has(row), of(row)) ?? 1) < 0.95 ? "warn" : ""),
    cell: (row) => <Recorded has={has(row)} of={of(row)} />,
  };
}

const columns: Column<ConformanceRow>[] = [
  { key: "service", label: "Service", value: (row) => row.service, cell: (row) => <><bdi>{row.service}</bdi>{row.versions.length > 0 && <span className="below">{row.versions.join(", ")}</span>}</>, part: (row) => ({ filter: "service", value: row.service }) },
  { key: "spans", label: "Spans", value: (row) => row.spans, format: "count" },
  fact("budgets", "Budget", "requests that carry what they were granted", (row) => row.budgets, (row) => row.requests),
  fact("outcomes", "Outcome", "requests that say how they ended", (row) => row.outcomes, (row) => row.requests),
  fact("margins", "Margin", "requests that say what was left", (row) => row.margins, (row) => row.budgets),
  fact("remainders", "Remainder", "calls that say what was left before them", (row) => row.remainders, (row) => row.calls),
  fact("headers", "Header passed on", "calls whose callee received the budget", (row) => row.headers_passed, (row) => row.headers_due),
  fact("told", "Cancellation told", "signals of which it is known whether the work stopped", (row) => row.told, (row) => row.signals),
  { key: "derived", label: "Derived", means: "facts that a rule filled in", value: (row) => row.derived, format: "count" },
  { key: "missing", label: "Missing", value: (row) => row.missing.length, wide: true, cell: (row) => (row.missing.length === 0 ? <span className="good">nothing</span> : <span className="counts">{row.missing.map((one) => <span key={one.fact}><code>{one.fact}</code> <span className="quiet">{formatCount(one.has)} of {formatCount(one.of)}</span></span>)}</span>) },
];

function Recorded({ has, of }: { has: number; of: number }) {
  if (of === 0) return <>–</>;
  return <>{formatRatio(has / of)}<span className="below">{formatCount(has)} of {formatCount(of)}</span></>;
}

export function Conformance() {
  return (
    <ReportPage
      name="conformance" title="Conformance" sentence={conformanceSentence} columns={columns} keyOf={(row) => row.service}
      none={{ title: "No service recorded anything", text: "One attribute on an entry span, deadline.budget.received in seconds, is where recording begins." }}
    />
  );
}
