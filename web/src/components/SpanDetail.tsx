import { Link } from "wouter";
import { attributeMeanings } from "../api/names.ts";
import type { Attributes, Finding, Line, Span } from "../api/shapes.ts";
import { shortID } from "../model/ids.ts";
import { formatSeconds } from "../model/seconds.ts";
import { words } from "../model/words.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Icon } from "./Icon.tsx";

interface Props {
  span: Span;
  origin: number;
  lines: readonly Line[];
  findings: readonly Finding[];
  isEntry: boolean;
  select: (line: Line) => void;
  drawAccount: () => void;
  close: () => void;
}

/** Everything known about one span, docked below the waterfall. */
export function SpanDetail({ span, origin, lines, findings, isEntry, select, drawAccount, close }: Props) {
  return (
    <section className="span-detail" aria-label="Span" tabIndex={0}>
      <header>
        <h3><bdi>{span.service}</bdi> · <bdi>{span.name}</bdi></h3>
        {span.entry && !isEntry && <button type="button" className="button" onClick={drawAccount}>Draw its account</button>}
        <CopyButton label={`Copy id ${span.span_id}`} text={() => span.span_id} />
        <button type="button" className="button icon-button" aria-label="Close the details (Esc)" onClick={close}><Icon name="cross" /></button>
      </header>
      <p className="facts">
        <span>{span.kind}</span>
        <span>from <b>{formatSeconds(span.at_s - origin)}</b></span>
        <span>took <b>{formatSeconds(span.duration_s)}</b></span>
        <span className={span.status === "Error" ? "bad" : undefined}>{span.status === "Unset" ? "no status" : span.status}{span.status_message && `: ${span.status_message}`}</span>
      </p>
      {findings.map((finding, i) => (
        <p key={i}><span className={finding.severity === "error" ? "bad" : finding.severity === "warn" ? "warn" : "quiet"}><Icon name={finding.severity} label={finding.severity} /></span> {finding.text}</p>
      ))}
      {lines.length > 0 && (
        <div className="actions">
          <span className="quiet">In the statement:</span>
          {lines.slice(0, 12).map((line) => <button key={line.n} type="button" className="button" onClick={() => select(line)}>line {line.n}</button>)}
          {lines.length > 12 && <span className="quiet">and {lines.length - 12} more</span>}
        </div>
      )}
      <AttributeList title="Attributes" attributes={span.attributes} />
      {span.events.length > 0 && <h4>Events</h4>}
      {span.events.map((event, i) => <AttributeList key={i} title={`${formatSeconds(event.at_s - origin)}  ${event.name}`} attributes={event.attributes} always />)}
      {span.links.length > 0 && (
        <div className="actions">
          <span className="quiet">Linked to</span>
          {span.links.map((link, i) => <Link key={i} className="mono" href={`/traces/${link.trace_id}?span=${link.span_id}`}>{shortID(link.trace_id)}…/{link.span_id}</Link>)}
        </div>
      )}
      <AttributeList title="Resource" attributes={span.resource} />
      {span.scope && <p className="quiet">Recorded by {span.scope}</p>}
    </section>
  );
}

function AttributeList({ title, attributes, always = false }: { title: string; attributes: Attributes; always?: boolean }) {
  const ours = (key: string) => key.startsWith("deadline.");
  const keys = Object.keys(attributes).sort((a, b) => Number(ours(b)) - Number(ours(a)) || a.localeCompare(b));
  if (keys.length === 0 && !always) return null;
  return (
    <div>
      <h4>{title}</h4>
      <dl className="attributes">
        {keys.map((key) => (
          <div key={key} style={{ display: "contents" }}>
            <dt title={attributeMeanings[key] ? words(attributeMeanings[key]) : undefined}>{key}</dt>
            <dd>{attributes[key]}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
