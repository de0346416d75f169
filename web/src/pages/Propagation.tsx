import type { PropagationRow } from "../api/shapes.ts";
import { FlowMap } from "../charts/FlowMap.tsx";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { propagationSentence } from "../model/sentences.ts";

const columns: Column<PropagationRow>[] = [
  { key: "from", label: "Caller", value: (row) => row.from, part: (row) => ({ filter: "service", value: row.from }) },
  { key: "to", label: "Callee", value: (row) => row.to, part: (row) => ({ filter: "peer", value: row.to }) },
  { key: "calls", label: "Calls", value: (row) => row.calls, format: "count" },
  { key: "coverage", label: "With a budget", value: (row) => (row.calls > 0 ? row.with_budget / row.calls : null), format: "ratio", tone: (row) => (row.with_budget < row.calls ? "warn" : ""), compares: true },
  { key: "handed", label: "Handed down", means: "median budget on arrival", value: (row) => row.handed_p50_s, format: "seconds", compares: true },
  { key: "used", label: "Used", means: "median", value: (row) => row.used_p50_s, format: "seconds", compares: true },
  { key: "renewed", label: "Renewed clocks", means: "the callee received more than its caller had left", value: (row) => row.renewed, format: "count", tone: (row) => (row.renewed > 0 ? "bad" : ""), compares: true },
  { key: "dropped", label: "Dropped headers", means: "the same, by the callee's own default", value: (row) => row.dropped, format: "count", tone: (row) => (row.dropped > 0 ? "bad" : ""), compares: true },
  { key: "growth", label: "Gained at most", value: (row) => row.growth_max_s, format: "seconds" },
];

export function Propagation() {
  return (
    <ReportPage
      name="propagation" title="Propagation" sentence={propagationSentence} columns={columns} keyOf={(row) => `${row.from} ${row.to}`} pathOf={tracesOf}
      none={{ title: "No service called another", text: "Edges are read from spans of two services of which one is the parent of the other." }}
      visual={({ answer, place }) => (
        <section className="panel block" aria-label="Map">
          <h2>Budget handed down and time used, medians</h2>
          <FlowMap rows={answer.rows} pathOf={(row) => tracesOf(row, place)} />
        </section>
      )}
    />
  );
}

function tracesOf(row: PropagationRow, place: PlaceState): string {
  const rule = row.renewed > 0 ? "renewed_clock" : row.dropped > 0 ? "dropped_header" : "";
  return searchPath(rule ? { service: row.to, rule } : { service: row.from, peer: row.to }, windowOf(place.query));
}
