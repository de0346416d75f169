import { Link } from "wouter";
import { useLeavers } from "../api/queries.ts";
import type { CancellationRow } from "../api/shapes.ts";
import { BarList } from "../charts/BarList.tsx";
import { PatienceCurve } from "../charts/PatienceCurve.tsx";
import type { Column } from "../components/columns.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage } from "../components/ReportPage.tsx";
import { Loading } from "../components/States.tsx";
import { searchPath, windowOf, withFilter } from "../model/filters.ts";
import { patienceOf } from "../model/patience.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";
import { cancellationSentence } from "../model/sentences.ts";
import { groupBy, sum } from "../model/sums.ts";
import { words } from "../model/words.ts";

const columns: Column<CancellationRow>[] = [
  { key: "route", label: "Route", value: (row) => row.route, cell: (row) => <><bdi>{row.route || "unnamed"}</bdi><span className="below"><bdi>{row.service}</bdi></span></> },
  { key: "cause", label: "Cause", value: (row) => row.cause, cell: (row) => words(row.cause), filter: "cause" },
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
  const leavers = useLeavers({ ...place.filters, ...place.window });
  const patience = leavers.data ? patienceOf(leavers.data.rows) : null;
  return (
    <section className="panel block" aria-label="Patience">
      <h2>When clients give up</h2>
      {leavers.isPending && <Loading what="those who left" rows={4} />}
      {leavers.isError && <p className="quiet">This could not be read: {leavers.error.message}</p>}
      {leavers.data && !patience && <p className="quiet">No client left in this time.</p>}
      {patience && (
        <>
          <p>
            Half of those who left had waited {formatSeconds(patience.median)}.{" "}
            {patience.early !== null && patience.budget !== null && (patience.early > 0.5
              ? <>{formatRatio(patience.early)} of them left before their budget was over: nobody waits for all of the {formatSeconds(patience.budget)}.</>
              : <>{formatRatio(1 - patience.early)} of them outlasted their budget of {formatSeconds(patience.budget)}.</>)}
          </p>
          <PatienceCurve patience={patience} />
          <p className="quiet small">From the <Link href={searchPath({ cause: "client_disconnect", outcome: "cancelled" }, windowOf(place.query))}>{formatCount(patience.steps.length)} latest requests</Link> whose client left.</p>
        </>
      )}
    </section>
  );
}

function tracesOf(row: CancellationRow, place: PlaceState): string {
  return searchPath({ service: row.service, route: row.route, cause: row.cause }, windowOf(place.query));
}
