import type { DependencyRow } from "../api/shapes.ts";
import { IncidentMap } from "../charts/IncidentMap.tsx";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { formatCount, formatSeconds } from "../model/seconds.ts";
import { dependencySentence } from "../model/sentences.ts";
import { noCallee } from "../model/words.ts";

const quadrants: Record<DependencyRow["quadrant"], { text: string; tone: "good" | "warn" | "bad" }> = {
  healthy: { text: "Healthy", tone: "good" }, stingy_caller: { text: "Stingy caller", tone: "warn" }, slow_dependency: { text: "Slow dependency", tone: "warn" }, both: { text: "Stingy and slow", tone: "bad" },
};

/** Without an allowance and without a baseline nothing is known, and that is not health. */
function verdictOf(row: DependencyRow): { text: string; tone: "good" | "warn" | "bad" | "" } {
  return row.generosity === null && row.slowdown === null ? { text: "Not known", tone: "" } : quadrants[row.quadrant];
}

const columns: Column<DependencyRow>[] = [
  { key: "peer", label: "Dependency", value: (row) => row.peer || row.stage, cell: (row) => <bdi>{row.peer || noCallee}</bdi>, part: (row) => ({ filter: "peer", value: row.peer }), below: (row) => [{ filter: "service", value: row.service }, { filter: "stage", value: row.stage }] },
  { key: "quadrant", label: "Verdict", means: "from time granted and slowness; not known without an allowance and a baseline", value: (row) => verdictOf(row).text, cell: (row) => <span className={`chip ${verdictOf(row).tone}`}>{verdictOf(row).text}</span> },
  { key: "calls", label: "Calls", value: (row) => row.calls, format: "count" },
  { key: "allowance_p50_s", label: "Granted", means: "median allowance of a call", value: (row) => row.allowance_p50_s, format: "seconds", compares: true },
  { key: "usual_p99_s", label: "Usual p99", means: "of the seven days before the window", value: (row) => row.usual_p99_s, format: "seconds" },
  { key: "generosity", label: "Generosity", means: "granted ÷ usual p99; below 1 the caller is stingy", value: (row) => row.generosity, format: "factor", tone: (row) => (row.generosity !== null && row.generosity < 1 ? "warn" : "") },
  { key: "latency_p50_s", label: "Latency", means: "median", value: (row) => row.latency_p50_s, format: "seconds", compares: true },
  { key: "slowdown", label: "Slowdown", means: "latency ÷ that of the seven days before; from 1.5 the dependency is slow", value: (row) => row.slowdown, format: "factor", tone: (row) => ((row.slowdown ?? 0) >= 1.5 ? "warn" : "") },
  { key: "between_p50_s", label: "Between", means: "the call less the callee's own span: network, proxies, accept queues", value: (row) => row.between_p50_s, format: "seconds", compares: true },
  { key: "fresh", label: "Fresh, p99", means: "calls on new connections", value: (row) => row.fresh.latency_p99_s, cell: (row) => <Connection {...row.fresh} />, format: "seconds" },
  { key: "reused", label: "Reused, p99", means: "calls on reused connections", value: (row) => row.reused.latency_p99_s, cell: (row) => <Connection {...row.reused} />, format: "seconds" },
];

function Connection({ calls, latency_p99_s }: DependencyRow["fresh"]) {
  if (calls === 0) return <>–</>;
  return <>{formatSeconds(latency_p99_s)}<span className="below">{formatCount(calls)} calls</span></>;
}

export function Dependencies() {
  return (
    <ReportPage
      name="dependencies" title="Dependencies" sentence={dependencySentence} columns={columns} keyOf={(row) => [row.service, row.stage, row.peer].join(" ")} pathOf={tracesOf}
      none={{ title: "No service called another", text: "Dependencies are read from client and producer spans." }}
      visual={({ answer, place }) => {
        const placed = answer.rows.filter((row) => row.generosity !== null && row.generosity > 0 && row.slowdown !== null && row.slowdown > 0);
        const left = answer.rows.length - placed.length;
        return (
          <section className="panel block" aria-label="Incident map">
            <h2>Incident map</h2>
            {placed.length > 0
              ? <IncidentMap dependencies={placed.map((row) => ({
                  key: [row.service, row.stage, row.peer].join(" "), label: `${row.service} → ${row.peer || row.stage}${row.stage && row.peer ? `, ${row.stage}` : ""}`,
                  generosity: row.generosity ?? 1, slowdown: row.slowdown ?? 1, calls: row.calls, quadrant: row.quadrant, path: tracesOf(row, place),
                }))} />
              : <p className="quiet">No dependency has both an allowance and seven days to be held against. The table has what is known.</p>}
            {placed.length > 0 && left > 0 && <p className="quiet small">{left} more in the table only: without an allowance or without a baseline nobody is blamed.</p>}
          </section>
        );
      }}
    />
  );
}

function tracesOf(row: DependencyRow, place: PlaceState): string {
  return searchPath({ service: row.service, stage: row.stage, peer: row.peer }, windowOf(place.query));
}
