import type { RetryRow } from "../api/shapes.ts";
import { BarList } from "../charts/BarList.tsx";
import { callOf, type Column } from "../components/columns.tsx";
import { Counts } from "../components/Counts.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { formatCount } from "../model/seconds.ts";
import { retrySentence } from "../model/sentences.ts";

const columns: Column<RetryRow>[] = [
  { key: "stage", label: "Call", value: (row) => row.stage || row.peer, cell: (row) => <bdi>{row.stage || row.peer}</bdi>, part: callOf, below: (row) => [{ filter: "service", value: row.service }] },
  { key: "peer", label: "Called service", value: (row) => row.peer, part: (row) => ({ filter: "peer", value: row.peer }) },
  { key: "layer", label: "Layer", means: "who made the attempts", value: (row) => row.layer },
  { key: "calls", label: "Calls", means: "first attempts of this layer", value: (row) => row.calls, format: "count" },
  { key: "attempts", label: "Attempts", value: (row) => row.attempts, format: "count", compares: true },
  { key: "attempts_per_call", label: "Amplification", means: "attempts ÷ calls", value: (row) => row.attempts_per_call, format: "factor", tone: (row) => ((row.attempts_per_call ?? 1) >= 1.5 ? "warn" : ""), compares: true },
  { key: "wasted", label: "Wasted", means: "retries that time cut", value: (row) => row.wasted, format: "count", tone: (row) => (row.wasted > 0 ? "warn" : ""), compares: true },
  { key: "wasted_s", label: "Time wasted", value: (row) => row.wasted_s, format: "seconds" },
  { key: "skipped", label: "Not started", means: "retries that would not have fitted", value: (row) => row.skipped, format: "count" },
  { key: "reasons", label: "Why not", value: (row) => row.skipped, cell: (row) => <Counts counts={row.reasons} />, wide: true },
];

export function Retries() {
  return (
    <ReportPage
      name="retries" title="Retries" sentence={retrySentence} columns={columns} keyOf={(row) => [row.service, row.stage, row.peer, row.layer].join(" ")} pathOf={tracesOf}
      none={{ title: "Nothing was retried", text: "Attempts are counted where a call carries deadline.attempt." }}
      visual={({ answer, place }) => (
        <section className="panel block" aria-label="Attempts">
          <h2>Attempts by layer</h2>
          <BarList label="Attempts by layer" bars={[...answer.rows].sort((a, b) => b.attempts - a.attempts).map((row) => ({
            key: [row.service, row.stage, row.peer, row.layer].join(" "), label: row.stage || row.peer, under: `${row.service}${row.layer ? `, layer ${row.layer}` : ""}`, path: tracesOf(row, place),
            text: `${formatCount(row.attempts)}`,
            parts: [
              { label: "First attempts", value: Math.min(row.calls, row.attempts), colour: "var(--service-4)" },
              { label: "Retries", value: Math.max(0, row.attempts - row.calls - row.wasted), colour: "var(--service-6)" },
              { label: "Wasted retries", value: Math.min(row.wasted, row.attempts), colour: "var(--bad)" },
            ],
          }))} />
        </section>
      )}
    />
  );
}

function tracesOf(row: RetryRow, place: PlaceState): string {
  return searchPath({ service: row.service, stage: row.stage, peer: row.peer, ...(row.wasted > 0 ? { rule: "wasted_retry" } : {}) }, windowOf(place.query));
}
