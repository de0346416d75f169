import { useState } from "react";
import { useAlertHistory } from "../api/alerts.ts";
import { formatValue, type Alert } from "../model/alerts.ts";
import { formatInstant } from "../model/instants.ts";
import { windowLabel } from "../model/window.ts";
import { words } from "../model/words.ts";
import { Icon } from "./Icon.tsx";
import type { PlaceState } from "./place.ts";
import { zone } from "./settings.ts";

const signs = { firing: ["error", "bad"], pending: ["warn", "warn"], resolved: ["good", "good"], inactive: ["info", "quiet"] } as const;

/** How alerts changed in the window of the page. */
export function AlertHistory({ place, alerts }: { place: PlaceState; alerts: readonly Alert[] }) {
  const shown = zone.use();
  const [name, setName] = useState("");
  const history = useAlertHistory(place.window, name);
  const rows = history.data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <section className="panel" aria-label="History">
      <div className="alert-head">
        <h2>History</h2>
        <select aria-label="Alert in the history" value={name} onChange={(event) => setName(event.target.value)}>
          <option value="">every alert</option>
          {alerts.filter((alert) => !alert.outside).map((alert) => <option key={alert.name}>{alert.name}</option>)}
        </select>
        <span className="quiet small">{windowLabel(place.window, shown)}</span>
      </div>
      {history.isError && <p className="alert-note bad" role="alert">The history could not be read: {history.error.message}</p>}
      {history.isPending && <p className="alert-note quiet pending">Reading the history …</p>}
      {history.data && rows.length === 0 && <p className="alert-note quiet">No alert changed in this time.</p>}
      {rows.length > 0 && (
        <div className="table-scroll">
          <table className="report">
            <thead><tr>{["When", "Alert", "Became", "Value", "What it said"].map((head) => <th key={head} scope="col" className="plain-head">{head}</th>)}</tr></thead>
            <tbody>
              {rows.map((row, i) => (
                <tr key={i}>
                  <td>{formatInstant(row.at, shown)}</td>
                  <td data-label="Alert">{row.name}</td>
                  <td data-label="Became"><span className={signs[row.state][1]}><Icon name={signs[row.state][0]} /> {words(row.state)}</span></td>
                  <td data-label="Value">{formatValue(row.value, alerts.find((alert) => alert.name === row.name)?.unit ?? "")}</td>
                  <td data-label="What it said" className="text wide"><bdi>{row.summary || "–"}</bdi></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {history.hasNextPage && <p className="table-foot"><button type="button" className="button" disabled={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>Read more</button></p>}
    </section>
  );
}
