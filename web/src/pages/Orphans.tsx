import { Link } from "wouter";
import type { OrphanRow } from "../api/shapes.ts";
import { BarList, type Bar } from "../charts/BarList.tsx";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { TraceLinks } from "../components/TraceLinks.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { formatSeconds } from "../model/seconds.ts";
import { byPlace, forNobody, orphanSentence } from "../model/sentences.ts";
import { groupBy, sum } from "../model/sums.ts";
import { words } from "../model/words.ts";

const columns: Column<OrphanRow>[] = [
  { key: "service", label: "Who works on", value: (row) => row.service, part: (row) => ({ filter: "service", value: row.service }), below: (row) => [{ filter: "stage", value: row.stage }] },
  { key: "peer", label: "Calling", value: (row) => row.peer, part: (row) => ({ filter: "peer", value: row.peer }) },
  { key: "cause", label: "Why nobody waits", value: (row) => row.cause, cell: (row) => (row.cause ? words(row.cause) : "–"), part: (row) => ({ filter: "cause", value: row.cause }) },
  { key: "orphan_s", label: "Orphan work", means: "time worked after the caller's wait had ended, by evidence", value: (row) => row.orphan_s, format: "seconds", tone: (row) => (row.orphan_s > 0 ? "bad" : ""), compares: true },
  { key: "spans", label: "Spans", means: "spans with orphan work", value: (row) => row.spans, format: "count" },
  { key: "share", label: "Share of busy", means: "orphan work ÷ the time of the service's entry spans", value: (row) => row.share_of_busy, format: "ratio" },
  { key: "post_cancel_s", label: "After cancel", means: "work done after a cancellation signal, without clean-up", value: (row) => row.post_cancel_s, format: "seconds", tone: (row) => (row.post_cancel_s > 0 ? "warn" : ""), compares: true },
  { key: "still_running", label: "Still running", means: "calls that were open when the answer went out", value: (row) => row.still_running, format: "count", tone: (row) => (row.still_running > 0 ? "bad" : "") },
  { key: "costs", label: "Costs", value: (row) => sum(Object.values(row.costs), (cost) => cost), cell: (row) => Object.entries(row.costs).map(([unit, cost]) => `${cost.toLocaleString("en")} ${unit}`).join(", ") || "–" },
  { key: "traces", label: "Worst traces", value: (row) => row.example_trace_ids.length, cell: (row) => <TraceLinks ids={row.example_trace_ids} />, wide: true },
];

export function Orphans() {
  return (
    <ReportPage
      name="orphans" title="Orphans" sentence={orphanSentence} columns={columns} keyOf={(row) => [row.service, row.stage, row.peer, row.cause].join(" ")} pathOf={tracesOf}
      none={{ title: "Nobody works for callers that left", text: "No orphan work, no work after a cancellation and no call left open was found in this time." }}
      visual={({ answer, place }) => (
        <section className="panel block" aria-label="By service">
          <h2>Time by service</h2>
          <BarList label="Orphan work and work after cancellation by service" bars={byService(answer.rows, place)} />
          <p className="quiet small">A child that outlives its parent with no sign that anybody gave up is overhang: it is shown in traces and counted in <Link href={`/findings?${windowOf(place.query)}&rule=overhang`}>findings</Link>, never here.</p>
        </section>
      )}
    />
  );
}

function byService(rows: readonly OrphanRow[], place: PlaceState): Bar[] {
  return groupBy(byPlace(rows), (row) => row.service, forNobody).map((group) => {
    const orphan = sum(group.rows, (row) => row.orphan_s);
    const beyond = group.total - orphan;
    return {
      key: group.key, label: group.key, text: formatSeconds(group.total),
      parts: [{ label: "Orphan work", value: orphan, colour: "var(--bad)" }, { label: "After cancellation, for a caller that stayed", value: beyond, colour: "var(--service-1)" }],
      path: `/orphans?${withService(place, group.key)}`,
    };
  });
}

function withService(place: PlaceState, service: string): string {
  const query = new URLSearchParams(place.query);
  query.set("service", service);
  return query.toString();
}

function tracesOf(row: OrphanRow, place: PlaceState): string {
  const rule = row.orphan_s > 0 ? "orphan_work" : row.still_running > 0 ? "still_running" : "";
  return searchPath({ service: row.service, stage: row.stage, ...(rule ? { rule } : { cause: row.cause }) }, windowOf(place.query));
}
