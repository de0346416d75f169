import type { LocalRow } from "../api/shapes.ts";
import { BarList } from "../charts/BarList.tsx";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { windowOf, withFilter } from "../model/filters.ts";
import { formatRatio } from "../model/seconds.ts";
import { localSentence } from "../model/sentences.ts";

const columns: Column<LocalRow>[] = [
  { key: "route", label: "Route", value: (row) => row.route, cell: (row) => <bdi>{row.route || "unnamed"}</bdi>, part: (row) => ({ filter: "route", value: row.route }) },
  { key: "service", label: "Service", value: (row) => row.service, part: (row) => ({ filter: "service", value: row.service }) },
  { key: "requests", label: "Requests", value: (row) => row.requests, format: "count" },
  { key: "before", label: "Before the first call", means: "median of recorded local work", value: (row) => row.before_first_call_p50_s, format: "seconds", compares: true },
  { key: "share", label: "Share of the budget", means: "median; above a half it is a finding", value: (row) => row.share_of_budget_p50, format: "ratio", tone: (row) => ((row.share_of_budget_p50 ?? 0) > 0.5 ? "warn" : ""), compares: true },
  { key: "queue", label: "Waited in its queue", means: "median", value: (row) => row.queue_p50_s, format: "seconds", compares: true },
];

export function Local() {
  return (
    <ReportPage
      name="local" title="Before calling" sentence={localSentence} columns={columns} keyOf={(row) => `${row.service} ${row.route}`} pathOf={routeOf}
      none={{ title: "No service recorded its local work", text: "The sdk records deadline.local.before_first_call on entry spans." }}
      visual={({ answer, place }) => (
        <section className="panel block" aria-label="By share of the budget">
          <h2>Share of the budget spent before the first call, median</h2>
          <BarList label="Share of the budget spent before the first call" bars={answer.rows.filter((row) => row.share_of_budget_p50 !== null).sort((a, b) => (b.share_of_budget_p50 ?? 0) - (a.share_of_budget_p50 ?? 0)).map((row) => ({
            key: `${row.service} ${row.route}`, label: row.route || "unnamed", under: row.service, text: formatRatio(row.share_of_budget_p50), path: routeOf(row, place),
            parts: [{ label: "Share", value: row.share_of_budget_p50 ?? 0, colour: (row.share_of_budget_p50 ?? 0) > 0.5 ? "var(--warn)" : "var(--service-4)" }],
          }))} />
        </section>
      )}
    />
  );
}

function routeOf(row: LocalRow, place: PlaceState): string {
  return `/route?${withFilter(windowOf(place.query), { service: row.service, route: row.route })}`;
}
