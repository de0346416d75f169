import { useState } from "react";
import { Link } from "wouter";
import { exampleSource, formatValue, labelPairs, limitText, lowestLimit, reportPath, type Entry, type Example } from "../model/alerts.ts";
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
        <div><dt>{entry.state === "resolved" ? "Last value" : "Value"}</dt><dd><b className={entry.state === "firing" ? "bad" : undefined}>{formatValue(entry.value, alert.unit)}</b> <span className="quiet">against {limitText(alert, entry.labels)}</span><Gauge entry={entry} /></dd></div>
        {labelPairs(entry.labels).map(([name, value]) => <div key={name}><dt>{words(name)}</dt><dd><bdi>{name === "cause" || name === "rule" || name === "phase" ? words(value) : value}</bdi></dd></div>)}
      </dl>
      {(entry.state !== "resolved" || entry.examples.length > 0) && (
        <details className="small" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{[entry.state !== "resolved" && "What to do", entry.examples.length > 0 && "the worst traces as they were told"].filter(Boolean).join(", and ")}</summary>
          {entry.state !== "resolved" && <p>{alert.do}</p>}
          {open && <Examples examples={entry.examples} />}
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
  const limit = lowestLimit(entry.alert, entry.labels);
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

/** The accounts that people were told when it began to fire. */
function Examples({ examples }: { examples: Example[] }) {
  return (
    <ul className="alert-examples" aria-label="Traces that showed it best when it began to fire">
      {examples.map((example) => (
        <li key={example.trace_id}>
          <Link className="mono" href={`/traces/${example.trace_id}`} title={`Open the statement of trace ${example.trace_id}`}>{example.trace_id.slice(0, 8)}</Link>
          <details>
            <summary><bdi>{example.title}</bdi></summary>
            <pre tabIndex={0} aria-label={`Statement of trace ${example.trace_id}`}>{example.text}</pre>
          </details>
        </li>
      ))}
    </ul>
  );
}
