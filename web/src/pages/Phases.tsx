import type { PhaseRow } from "../api/shapes.ts";
import { BarList } from "../charts/BarList.tsx";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { formatCount } from "../model/seconds.ts";
import { phaseSentence } from "../model/sentences.ts";
import { groupBy, sum } from "../model/sums.ts";
import { noCallee, words } from "../model/words.ts";

const columns: Column<PhaseRow>[] = [
  { key: "peer", label: "Dependency", value: (row) => row.peer, cell: (row) => <bdi>{row.peer || noCallee}</bdi>, part: (row) => ({ filter: "peer", value: row.peer }), below: (row) => [{ filter: "service", value: row.service }] },
  { key: "phase", label: "Phase", value: (row) => row.phase, cell: (row) => words(row.phase), part: (row) => ({ filter: "phase", value: row.phase }) },
  { key: "timeouts", label: "Timeouts", value: (row) => row.timeouts, format: "count", tone: (row) => (row.timeouts > 0 ? "bad" : ""), compares: true },
  { key: "fresh", label: "On fresh connections", value: (row) => row.fresh, format: "count" },
  { key: "reused", label: "On reused ones", value: (row) => row.reused, format: "count" },
  { key: "measured", label: "Calls measured", value: (row) => row.measured, format: "count" },
  { key: "p50_s", label: "Median", means: "of all calls whose phase was measured", value: (row) => row.p50_s, format: "seconds", compares: true },
  { key: "p99_s", label: "p99", value: (row) => row.p99_s, format: "seconds", compares: true },
];

export function Phases() {
  return (
    <ReportPage
      name="phases" title="Phases" sentence={phaseSentence} columns={columns} keyOf={(row) => [row.service, row.peer, row.phase].join(" ")} pathOf={tracesOf}
      none={{ title: "No phase was recorded", text: "Phases come from the sdk's transports, or from error texts that name them." }}
      visual={({ answer }) => {
        const groups = groupBy(answer.rows.filter((row) => row.timeouts > 0), (row) => row.phase, (row) => row.timeouts);
        if (groups.length === 0) return null;
        return (
          <section className="panel block" aria-label="Timeouts by phase">
            <h2>Timeouts by phase</h2>
            <BarList label="Timeouts by phase" bars={groups.map((group) => {
              const fresh = sum(group.rows, (row) => row.fresh);
              const reused = sum(group.rows, (row) => row.reused);
              return {
                key: group.key, label: words(group.key), text: formatCount(group.total),
                parts: [
                  { label: "Reused connection", value: reused, colour: "var(--service-0)" }, { label: "Fresh connection", value: fresh, colour: "var(--service-1)" },
                  { label: "Not known", value: Math.max(0, group.total - fresh - reused), colour: "var(--rule-strong)" },
                ],
              };
            })} />
          </section>
        );
      }}
    />
  );
}

function tracesOf(row: PhaseRow, place: PlaceState): string {
  return searchPath({ service: row.service, peer: row.peer, ...(row.timeouts > 0 ? { phase: row.phase } : {}) }, windowOf(place.query));
}
