import { Link } from "wouter";
import { usePatience } from "../api/queries.ts";
import type { CancellationRow } from "../api/shapes.ts";
import { BarList } from "../charts/BarList.tsx";
import { PatienceCurve } from "../charts/PatienceCurve.tsx";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { ReportTools } from "../components/ReportTools.tsx";
import { Loading } from "../components/States.tsx";
import { searchPath, windowOf, withFilter } from "../model/filters.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";
import { cancellationSentence } from "../model/sentences.ts";
import { groupBy, sum } from "../model/sums.ts";
import { words } from "../model/words.ts";

const columns: Column<CancellationRow>[] = [
  { key: "route", label: "Route", value: (row) => row.route, cell: (row) => <bdi>{row.route || "unnamed"}</bdi>, part: (row) => ({ filter: "route", value: row.route }), below: (row) => [{ filter: "service", value: row.service }] },
  { key: "cause", label: "Cause", value: (row) => row.cause, cell: (row) => words(row.cause), part: (row) => ({ filter: "cause", value: row.cause }) },
  { key: "sent", label: "Cancelled", value: (row) => row.sent, format: "count", compares: true },
  { key: "confirmed", label: "Seen to stop", value: (row) => row.confirmed, format: "count", tone: (row) => (row.confirmed < row.sent ? "warn" : "") },
  { key: "never", label: "Never confirmed", means: "may still run", value: (row) => row.sent - row.confirmed, format: "count", tone: (row) => (row.confirmed < row.sent ? "bad" : ""), compares: true },
  { key: "patience_p50_s", label: "Waited, median", means: "clients that left", value: (row) => row.patience_p50_s, format: "seconds" },
  { key: "patience_p95_s", label: "p95", value: (row) => row.patience_p95_s, format: "seconds" },
  { key: "budget_p50_s", label: "Budget", means: "median granted", value: (row) => row.budget_p50_s, format: "seconds" },
];

export function Cancellations() {
  return (
    <ReportPage
      name="cancellations" title="Cancellations" sentence={cancellationSentence} columns={columns} keyOf={(row) => [row.service, row.route, row.cause].join(" ")} pathOf={tracesOf}
      none={{ title: "Nothing was cancelled", text: "No entry span carries a cause of cancellation in this time." }}
      visual={({ answer, place }) => (
        <div className="two">
          <section className="panel block" aria-label="By cause">
            <h2>Why, and whether the work stopped</h2>
            <BarList label="Cancellations by cause" bars={groupBy(answer.rows, (row) => row.cause, (row) => row.sent).map((group) => {
              const confirmed = sum(group.rows, (row) => row.confirmed);
              return {
                key: group.key, label: words(group.key), text: formatCount(group.total), path: `/cancellations?${withFilter(place.query, { cause: group.key })}`,
                parts: [{ label: "Seen to stop", value: confirmed, colour: "var(--service-2)" }, { label: "Never confirmed", value: group.total - confirmed, colour: "var(--bad)" }],
              };
            })} />
          </section>
          <PatiencePanel place={place} />
        </div>
      )}
    />
  );
}

function PatiencePanel({ place }: { place: PlaceState }) {
  const filters = { ...place.filters, ...place.window };
  const patience = usePatience(filters, place.without);
  const found = patience.data;
  return (
    <section className="panel block" aria-label="Patience">
      <div className="block-head"><h2>When clients give up</h2><ReportTools name="patience" filters={{ ...filters, ...place.without }} /></div>
      {patience.isPending && <Loading what="those who left" rows={4} />}
      {patience.isError && !found && <p className="quiet">This could not be read: {patience.error.message}</p>}
      {found && found.left === 0 && <p className="quiet">No client left in this time.</p>}
      {found && found.left > 0 && (
        <div className={patience.isPlaceholderData ? "stale" : undefined}>
          <p>
            Half of those who left had waited {formatSeconds(found.patience_p50_s)}.{" "}
            {found.early_ratio !== null && found.budget_p50_s !== null && (found.early_ratio > 0.5
              ? <>{formatRatio(found.early_ratio)} of them left before their budget was over; half of them had been granted {formatSeconds(found.budget_p50_s)} or more.</>
              : <>{formatRatio(1 - found.early_ratio)} of them outlasted their budget, {formatSeconds(found.budget_p50_s)} in the median.</>)}
          </p>
          <PatienceCurve patience={found} />
          <p className="quiet small">All <Link href={searchPath({ ...pick(place), cause: "client_disconnect", outcome: "cancelled" }, windowOf(place.query))}>{formatCount(found.left)} requests</Link> of this time whose client left.</p>
        </div>
      )}
    </section>
  );
}

function pick({ filters: { service = "", route = "" } }: PlaceState): Record<string, string> {
  return { service, route };
}

function tracesOf(row: CancellationRow, place: PlaceState): string {
  return searchPath({ service: row.service, route: row.route, cause: row.cause }, windowOf(place.query));
}
