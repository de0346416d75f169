import { useState } from "react";
import { useAlertHistory, useAlerts } from "../api/alerts.ts";
import type { AlertList } from "../api/shapes.ts";
import { AlertCard } from "../components/AlertCard.tsx";
import { AlertHistory } from "../components/AlertHistory.tsx";
import { AlertTable } from "../components/AlertTable.tsx";
import { Icon } from "../components/Icon.tsx";
import { Notified } from "../components/Notified.tsx";
import { usePlace } from "../components/place.ts";
import { zone } from "../components/settings.ts";
import { Silences } from "../components/Silences.tsx";
import { Failure, Loading, Stale } from "../components/States.tsx";
import { alertSentence, entries, key } from "../model/alerts.ts";
import { ago } from "../model/instants.ts";
import { windowLabel } from "../model/window.ts";

// Each asks for its worst traces; where much fires, the others wait until they are opened.
const mostUnfolded = 3;
// More than these are behind a button, so that silences and history stay near.
const mostShown = 8;

/** What fires, what is about to, what was resolved; who is told; what is silenced. */
export function Alerts() {
  const place = usePlace();
  const shown = zone.use();
  const alerts = useAlerts();
  const history = useAlertHistory(place.window, "");
  const [all, setAll] = useState(false);
  const answer = alerts.data;
  const found = answer ? entries(answer.rows, history.data?.pages.flatMap((page) => page.rows) ?? []) : [];
  return (
    <>
      <title>Alerts · Laxity</title>
      <div className="page-head">
        <div>
          <p className="kicker">Alerts</p>
          <h1>{answer ? alertSentence(answer.rows) : "Alerts"}</h1>
          {answer && <Facts answer={answer} />}
        </div>
      </div>
      {answer && <Stale error={alerts.error} at={alerts.dataUpdatedAt} retry={alerts.refetch} />}
      {alerts.isPending && <Loading what="the alerts" rows={8} />}
      {alerts.isError && !answer && <Failure error={alerts.error} retry={alerts.refetch} />}
      {answer && (
        <div className="stack">
          {answer.problem && <p className="notice" role="status"><Icon name="warn" /> Not everybody is told: {answer.problem}. It is tried again until it is delivered.</p>}
          {!answer.evaluated_at && <p className="notice" role="status"><Icon name="warn" /> No alert was evaluated yet. That begins a minute or two after the start, unless laxity api runs with --alerts=false.</p>}
          <section className="alert-cards" aria-label="Alerts that fire, are pending or were resolved">
            {(all ? found : found.slice(0, mostShown)).map((entry, i) => <AlertCard key={`${entry.state} ${key(entry.alert.name, entry.labels)}`} entry={entry} unfolded={i < mostUnfolded} />)}
            {!all && found.length > mostShown && <p><button type="button" className="button" onClick={() => setAll(true)}>Show all {found.length}</button></p>}
            {found.length === 0 && <p className="quiet">Nothing fires, is about to, or was resolved. Looked back: {windowLabel(place.window, shown)}.</p>}
          </section>
          <div className="two">
            <Notified tells={answer.tells} names={answer.rows.filter((row) => !row.outside).map((row) => row.name)} />
            <Silences />
          </div>
          <AlertHistory place={place} alerts={answer.rows} />
          <AlertTable alerts={answer.rows} />
        </div>
      )}
    </>
  );
}

function Facts({ answer }: { answer: AlertList }) {
  const held = answer.rows.filter((row) => !row.outside).length;
  return (
    <p className="facts small">
      {answer.evaluated_at && <span>Evaluated for the minute that ended <b>{ago(answer.evaluated_at, Date.now())}</b></span>}
      <span><b>{held}</b> alerts, and <b>{answer.rows.length - held}</b> that only Prometheus can evaluate</span>
      <span>{answer.tells.length === 0 ? <b>Nobody is told</b> : <>Tells <b>{answer.tells.join(", ")}</b></>}</span>
    </p>
  );
}
