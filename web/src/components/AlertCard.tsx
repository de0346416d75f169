import { useState } from "react";
import { Link } from "wouter";
import { useExamples } from "../api/alerts.ts";
import { exampleSource, exampleText, formatValue, labelPairs, limitText, lowestLimit, reportPath, type Entry } from "../model/alerts.ts";
import { searchPath } from "../model/filters.ts";
import { ago, formatInstant } from "../model/instants.ts";
import { words } from "../model/words.ts";
import { Icon } from "./Icon.tsx";
import { zone } from "./settings.ts";
import { SilenceButton } from "./Silences.tsx";

const states = {
  firing: { icon: "error", tone: "bad", word: "Firing" },
  pending: { icon: "warn", tone: "warn", word: "Pending" },
  resolved: { icon: "good", tone: "good", word: "Resolved" },
} as const;

/** One alert for one value of its labels: what it says, against which limit, since when, and the ways on; `unfolded` with its worst traces. */
export function AlertCard({ entry, unfolded }: { entry: Entry; unfolded: boolean }) {
  const [open, setOpen] = useState(unfolded);
  const shown = zone.use();
  const state = states[entry.state];
  const report = reportPath(entry);
  const source = exampleSource(entry);
  const { alert } = entry;
  return (
    <article className="panel alert-card" aria-label={`${alert.name}, ${entry.state}`}>
      <div className="row">
        <span className={`chip ${state.tone}`}><Icon name={state.icon} /> {state.word}</span>
        <h2>{alert.name}</h2>
        <span className="quiet small">{words(alert.severity)}</span>
        {entry.silenced && <span className="chip">Silenced</span>}
        <span className="quiet small since" title={formatInstant(entry.since, shown)}>{entry.state === "resolved" ? "" : "since "}{formatInstant(entry.since, shown)}, {ago(entry.since, Date.now())}</span>
      </div>
      <p className="says"><bdi>{entry.summary}</bdi></p>
      <dl className="alert-facts">
        <div><dt>{entry.state === "resolved" ? "Last value" : "Value"}</dt><dd><b className={entry.state === "firing" ? "bad" : undefined}>{formatValue(entry.value, alert.unit)}</b> <span className="quiet">against {limitText(alert)}</span><Gauge entry={entry} /></dd></div>
        {labelPairs(entry.labels).map(([name, value]) => <div key={name}><dt>{words(name)}</dt><dd><bdi>{name === "cause" || name === "rule" || name === "phase" ? words(value) : value}</bdi></dd></div>)}
      </dl>
      {entry.state !== "resolved" && (
        <details className="small" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>What to do{source && ", and the worst traces"}</summary>
          <p>{alert.do}</p>
          {source && open && <Examples source={source} />}
        </details>
      )}
      <div className="actions">
        {report && <Link className="button" href={report.path}>{report.label}</Link>}
        {source && <Link className="button" href={searchPath(source)}>Traces</Link>}
        {entry.state !== "resolved" && !entry.silenced && <SilenceButton entry={entry} />}
      </div>
    </article>
  );
}

/** The value as a length, with a mark where the lowest limit lies. */
function Gauge({ entry }: { entry: Entry }) {
  const limit = lowestLimit(entry.alert);
  if (limit === null || limit <= 0) return null;
  const end = Math.max(limit, entry.value) * 1.15;
  return (
    <svg className="alert-gauge" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect className="track" width="100" height="6" />
      <rect className={entry.value >= limit ? "over" : "under"} width={(100 * Math.max(0, entry.value)) / end} height="6" />
      <rect className="limit" x={(100 * limit) / end} width="0.8" height="6" />
    </svg>
  );
}

function Examples({ source }: { source: Record<string, string> }) {
  const examples = useExamples(source);
  if (examples.isPending) return <p className="quiet small pending">Reading the worst traces …</p>;
  if (examples.isError) return <p className="quiet small">The worst traces could not be read: {examples.error.message}</p>;
  if (examples.data.length === 0) return <p className="quiet small">No trace of it is found by search.</p>;
  return (
    <ul className="alert-examples" aria-label="Worst of the latest traces">
      {examples.data.map((row) => <li key={row.trace_id}><Link className="mono" href={`/traces/${row.trace_id}`} title={`Open the statement of trace ${row.trace_id}`}>{row.trace_id.slice(0, 8)}</Link> <bdi>{exampleText(row)}</bdi></li>)}
    </ul>
  );
}
