import type { LimitRow } from "../api/shapes.ts";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { TraceLinks } from "../components/TraceLinks.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { limitSentence } from "../model/sentences.ts";
import { noCallee } from "../model/words.ts";

const columns: Column<LimitRow>[] = [
  { key: "edge", label: "Call", value: (row) => row.operation, cell: (row) => <bdi>{row.operation}</bdi>, below: (row) => [{ filter: "service", value: row.service }] },
  { key: "peer", label: "Called service", value: (row) => row.peer, cell: (row) => <bdi>{row.peer || noCallee}</bdi>, part: (row) => ({ filter: "peer", value: row.peer }) },
  { key: "limit_s", label: "Limit", value: (row) => row.limit_s, format: "seconds", tone: () => "bad" },
  { key: "confidence", label: "Confidence", means: "share of the calls that reached the limit and were cut there, at least", value: (row) => row.confidence, format: "ratio" },
  { key: "calls", label: "Calls", value: (row) => row.calls, format: "count" },
  { key: "cut", label: "Cut", value: (row) => row.cut, format: "count" },
  { key: "beyond", label: "Beyond it", means: "calls that took longer", value: (row) => row.beyond, format: "count" },
  { key: "outlived", label: "Callee worked on", means: "calls whose callee took longer than the call", value: (row) => row.outlived, format: "count" },
  { key: "after_s", label: "Work after the cut", means: "at least, by lengths", value: (row) => row.after_s, format: "seconds" },
  { key: "after_estimate_s", label: "By clocks", means: "estimate by the clocks of both sides", value: (row) => row.after_estimate_s, format: "seconds" },
  { key: "examples", label: "Traces", value: (row) => row.example_trace_ids.length, cell: (row) => <TraceLinks ids={row.example_trace_ids} />, wide: true },
];

export function Limits() {
  return (
    <ReportPage
      name="limits" title="Hidden limits" sentence={limitSentence} columns={columns} keyOf={(row) => [row.service, row.peer, row.operation].join(" ")} pathOf={tracesOf}
      none={{ title: "No hidden limit was found", text: "A timeout that nobody recorded shows as calls that pile up at one duration: at least five of them on one edge, with evidence that they were cut." }}
    />
  );
}

function tracesOf(row: LimitRow, place: PlaceState): string {
  return searchPath({ service: row.service, peer: row.peer }, windowOf(place.query));
}
