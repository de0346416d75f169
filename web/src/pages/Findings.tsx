import type { FindingRow } from "../api/shapes.ts";
import { BarList } from "../charts/BarList.tsx";
import type { Column } from "../components/columns.tsx";
import { Icon } from "../components/Icon.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { zone } from "../components/settings.ts";
import { TraceLinks } from "../components/TraceLinks.tsx";
import { searchPath, windowOf, withFilter } from "../model/filters.ts";
import { formatInstant } from "../model/instants.ts";
import { formatCount } from "../model/seconds.ts";
import { findingSentence } from "../model/sentences.ts";
import { groupBy } from "../model/sums.ts";
import { ruleName, severityOf } from "../model/words.ts";

const tones = { error: "bad", warn: "warn", info: "quiet" } as const;
const colours = { error: "var(--bad)", warn: "var(--warn)", info: "var(--ink-2)" } as const;

const columns: Column<FindingRow>[] = [
  { key: "rule", label: "Finding", value: (row) => ruleName(row.rule), cell: (row) => <><span className={tones[row.severity]}><Icon name={row.severity} label={row.severity} /></span> {ruleName(row.rule)}</>, part: (row) => ({ filter: "rule", value: row.rule }) },
  { key: "service", label: "Service", value: (row) => row.service, part: (row) => ({ filter: "service", value: row.service }) },
  { key: "stage", label: "Stage", value: (row) => row.stage, part: (row) => ({ filter: "stage", value: row.stage }) },
  { key: "peer", label: "Called service", value: (row) => row.peer, part: (row) => ({ filter: "peer", value: row.peer }) },
  { key: "traces", label: "Traces", value: (row) => row.traces, format: "count", compares: true },
  { key: "spans", label: "Spans", value: (row) => row.spans, format: "count" },
  { key: "amount_s", label: "Time", means: "what the findings measured, added up", value: (row) => row.amount_s, format: "seconds" },
  { key: "last_seen_at", label: "Last seen", value: (row) => row.last_seen_at, cell: (row) => <When at={row.last_seen_at} /> },
  { key: "examples", label: "Worst traces", value: (row) => row.example_trace_ids.length, cell: (row) => <TraceLinks ids={row.example_trace_ids} />, wide: true },
];

export function Findings() {
  return (
    <ReportPage
      name="findings" title="Findings" sentence={findingSentence} columns={columns} keyOf={(row) => [row.rule, row.service, row.stage, row.peer].join(" ")} pathOf={tracesOf}
      none={{ title: "No rule was broken", text: "Findings come from judged traces, a minute or so after the last span of a trace arrived." }}
      visual={({ answer, place }) => (
        <section className="panel block" aria-label="By rule">
          <h2>Traces by finding</h2>
          <BarList
            label="Traces by finding" most={12}
            bars={groupBy(answer.rows, (row) => row.rule, (row) => row.traces).map((group) => ({
              key: group.key, label: ruleName(group.key), text: formatCount(group.total), path: `/findings?${withFilter(place.query, { rule: group.key })}`,
              parts: [{ label: { error: "Error", warn: "Warning", info: "Information" }[severityOf(group.key)], value: group.total, colour: colours[severityOf(group.key)] }],
            }))}
          />
        </section>
      )}
    />
  );
}

function tracesOf(row: FindingRow, place: PlaceState): string {
  return searchPath({ rule: row.rule, service: row.service }, windowOf(place.query));
}

function When({ at }: { at: string }) {
  return <>{formatInstant(at, zone.use())}</>;
}
