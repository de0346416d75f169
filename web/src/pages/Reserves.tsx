import type { ReserveRow } from "../api/shapes.ts";
import { callOf, type Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { TraceLinks } from "../components/TraceLinks.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { reserveSentence } from "../model/sentences.ts";

const verdicts: Record<ReserveRow["verdict"], { text: string; tone: string }> = {
  fits: { text: "Fits", tone: "good" }, too_small: { text: "Too small", tone: "bad" }, wasteful: { text: "Wasteful", tone: "warn" }, unknown: { text: "Not known", tone: "" },
};

const columns: Column<ReserveRow>[] = [
  { key: "stage", label: "Stage", value: (row) => row.stage || row.peer, cell: (row) => <bdi>{row.stage || row.peer || "unnamed"}</bdi>, part: callOf, below: (row) => [{ filter: "service", value: row.service }, { filter: "route", value: row.route }] },
  { key: "verdict", label: "Verdict", value: (row) => verdicts[row.verdict].text, cell: (row) => <span className={`chip ${verdicts[row.verdict].tone}`}>{verdicts[row.verdict].text}</span> },
  { key: "calls", label: "Calls", value: (row) => row.calls, format: "count" },
  { key: "reserve_p50_s", label: "Kept back", means: "median of the reserves recorded", value: (row) => row.reserve_p50_s, format: "seconds", compares: true },
  { key: "needed_p50_s", label: "Needed, median", means: "what followed the hop until the answer", value: (row) => row.needed_p50_s, format: "seconds", compares: true },
  { key: "needed_p99_s", label: "Needed, p99", value: (row) => row.needed_p99_s, format: "seconds", compares: true },
  { key: "measured", label: "Measured", value: (row) => row.measured, format: "count" },
  { key: "eaten", label: "Eaten", means: "hops that used time of their reserve", value: (row) => row.eaten_ratio, format: "ratio", tone: (row) => (row.eaten > 0 ? "warn" : ""), compares: true },
  { key: "hopeless", label: "No chance", means: "hops that started with less than the usual median", value: (row) => row.hopeless_ratio, format: "ratio", tone: (row) => (row.hopeless_starts > 0 ? "warn" : ""), compares: true },
  { key: "examples", label: "Traces", value: (row) => row.example_trace_ids.length, cell: (row) => <TraceLinks ids={row.example_trace_ids} />, wide: true },
];

export function Reserves() {
  return (
    <ReportPage
      name="reserves" title="Reserves" sentence={reserveSentence} columns={columns} keyOf={(row) => [row.service, row.route, row.stage, row.peer].join(" ")} pathOf={tracesOf}
      none={{ title: "No reserve was recorded", text: "A hop records what it keeps back for later steps as deadline.reserve." }}
    />
  );
}

function tracesOf(row: ReserveRow, place: PlaceState): string {
  return searchPath({ service: row.service, route: row.route, stage: row.stage }, windowOf(place.query));
}
