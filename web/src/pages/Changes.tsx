import { useState } from "react";
import { Link } from "wouter";
import { hasToken } from "../api/client.ts";
import { useAttribution } from "../api/queries.ts";
import type { AttributionReport, AttributionRow } from "../api/shapes.ts";
import { ChangeWaterfall } from "../charts/ChangeWaterfall.tsx";
import type { Column } from "../components/columns.tsx";
import { CopyButton } from "../components/CopyButton.tsx";
import { FilterBar } from "../components/FilterBar.tsx";
import { Freshness } from "../components/Freshness.tsx";
import { Icon } from "../components/Icon.tsx";
import { MarkerList } from "../components/MarkerList.tsx";
import { usePlace, type PlaceState } from "../components/place.ts";
import { ReportTable } from "../components/ReportTable.tsx";
import { save } from "../components/ReportTools.tsx";
import { zone } from "../components/settings.ts";
import { Failure, Loading, NothingHere, Stale } from "../components/States.tsx";
import { changeSentence } from "../model/changes.ts";
import { toCSV } from "../model/csv.ts";
import { windowOf, withFilter } from "../model/filters.ts";
import { formatInstant } from "../model/instants.ts";
import { curlOf } from "../model/reports.ts";
import { formatRatio, formatSeconds } from "../model/seconds.ts";
import { comparedWindow } from "../model/window.ts";

const columns: Column<AttributionRow>[] = [
  { key: "route", label: "Route", value: (row) => row.route, cell: (row) => <><bdi>{row.route || "unnamed"}</bdi><span className="below"><bdi>{row.service}</bdi></span></> },
  { key: "change", label: "Mean margin moved", value: (row) => row.change_s, format: "seconds", cell: (row) => <>{formatSeconds(row.change_s, true)}<span className="below">{row.change_s === null ? "not in both" : row.clear ? `${formatSeconds(row.change_low_s, true)} … ${formatSeconds(row.change_high_s, true)}` : "within chance"}</span></>, tone: (row) => (row.clear && (row.change_s ?? 0) < 0 ? "bad" : "") },
  { key: "before", label: "Margin p05, before", value: (row) => row.before.margin_p05_s, format: "seconds" },
  { key: "after", label: "After", value: (row) => row.after.margin_p05_s, format: "seconds" },
  { key: "missed_before", label: "Missed, before", value: (row) => row.before.missed_ratio, format: "ratio" },
  { key: "missed_after", label: "After", value: (row) => row.after.missed_ratio, format: "ratio", tone: (row) => ((row.after.missed_ratio ?? 0) > (row.before.missed_ratio ?? 0) + 0.001 ? "bad" : "") },
  { key: "budget", label: "Budget, before and after", value: (row) => row.after.budget_p50_s, format: "seconds", cell: (row) => <>{formatSeconds(row.before.budget_p50_s)} → {formatSeconds(row.after.budget_p50_s)}</> },
];

/** Why margins moved: around a deployment, or against an earlier window. */
export function Changes() {
  const place = usePlace();
  const marker = place.query.get("marker") ?? "";
  const held = place.compared ?? comparedWindow(place.window, "week");
  const { service = "", route = "" } = place.filters;
  const params: Record<string, string> = marker
    ? { marker, reach: place.query.get("reach") || "24h", service, route }
    : { ...place.window, before_from: held?.from ?? "", before_to: held?.to ?? "", service, route };
  const changes = useAttribution(params, marker !== "" || held !== null);
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value));
  const answer = changes.data;
  return (
    <>
      <title>What changed · Laxity</title>
      <div className="page-head">
        <div>
          <p className="kicker">What changed</p>
          <h1>{answer ? headline(answer) : "Why margins moved"}</h1>
          {answer && <Windows answer={answer} />}
        </div>
        <div className="report-tools">
          {answer && <button type="button" className="button" onClick={() => save("laxity-changes.csv", toCSV(answer.rows.flatMap(({ parts, ...row }) => [...parts.map((part) => ({ ...row, ...part, route_change_s: row.change_s }))])))}><Icon name="download" />CSV</button>}
          <CopyButton label="curl" text={() => curlOf(window.location.origin, "/reports/attribution", given, hasToken())} />
        </div>
      </div>
      <FilterBar names={["service", "route"]} place={place} />
      <MarkerList place={place} chosen={marker} />
      {answer && <Stale error={changes.error} at={changes.dataUpdatedAt} retry={changes.refetch} />}
      {changes.isPending && (held || marker) && <Loading what="the changes" rows={10} />}
      {!held && !marker && <p className="quiet">All time has no earlier window to be held against. Choose a time range or a deployment.</p>}
      {changes.isError && !answer && <Failure error={changes.error} retry={changes.refetch} />}
      {answer && answer.rows.length === 0 && <NothingHere place={place} names={["service", "route"]} newest={null}>No route was answered with a budget in these windows. Accounts are judged a minute or so after their last span arrived.</NothingHere>}
      {answer && answer.rows.length > 0 && <Rows answer={answer} place={place} />}
    </>
  );
}

function headline(answer: AttributionReport): string {
  const lost = answer.rows.filter((row) => row.clear && (row.change_s ?? 0) < 0);
  if (answer.rows.length === 0) return "Nothing to compare";
  if (lost.length === 0) return "No route lost margin beyond chance";
  const [most] = [...lost].sort((a, b) => (a.change_s ?? 0) - (b.change_s ?? 0));
  return `${lost.length} of ${answer.rows.length} routes lost margin; ${most?.service} ${most?.route} the most, ${formatSeconds(Math.abs(most?.change_s ?? 0))}`;
}

function Windows({ answer }: { answer: AttributionReport }) {
  const shown = zone.use();
  const name = (window: { from: string; to: string }) => `${formatInstant(window.from, shown).slice(0, 16)} – ${formatInstant(window.to, shown).slice(0, 16)}`;
  return (
    <p className="facts small">
      <span>Before <b>{name(answer.before)}</b></span>
      <span>after <b>{name(answer.window)}</b></span>
      {answer.marker && <span>around <b>{answer.marker.title || answer.marker.version}</b></span>}
      <Freshness watermark={answer.watermark} provisional={answer.provisional} />
    </p>
  );
}

function Rows({ answer, place }: { answer: AttributionReport; place: PlaceState }) {
  const comparable = answer.rows.filter((row) => row.change_s !== null);
  const [opened, setOpened] = useState("");
  const key = (row: AttributionRow) => `${row.service} ${row.route}`;
  const row = comparable.find((one) => key(one) === opened) ?? comparable.find((one) => one.clear) ?? comparable[0];
  return (
    <div className="stack">
      {row && (
        <section className="panel block" aria-label="Why it moved">
          <h2>
            <label>Why <select value={key(row)} onChange={(event) => setOpened(event.target.value)} aria-label="Route">{comparable.map((one) => <option key={key(one)} value={key(one)}>{one.service} {one.route}</option>)}</select> moved</label>
          </h2>
          <p>{changeSentence(row)} Missed: {formatRatio(row.before.missed_ratio)} before, {formatRatio(row.after.missed_ratio)} after.</p>
          <ChangeWaterfall row={row} />
          <p><Link href={`/route?${withFilter(windowOf(place.query), { service: row.service, route: row.route })}`}>Open the route</Link></p>
        </section>
      )}
      <section className="panel" aria-label="Changes, table">
        <ReportTable name="Changes, table" rows={answer.rows} columns={columns} keyOf={key} place={place} pathOf={(one) => `/route?${withFilter(windowOf(place.query), { service: one.service, route: one.route })}`} />
      </section>
    </div>
  );
}
