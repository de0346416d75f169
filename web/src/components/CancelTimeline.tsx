import type { Cancellation, Cancelled } from "../model/cancel.ts";
import { formatSeconds } from "../model/seconds.ts";
import { words } from "../model/words.ts";

const most = 12;

interface Props {
  cancellation: Cancellation;
  /** Start of the entry span, seconds after the start of the trace. */
  origin: number;
  selected: string;
  showSpan: (span: string) => void;
}

/** When the signal was sent, when each span saw it, when its work stopped, and which never said so. */
export function CancelTimeline({ cancellation, origin, selected, showSpan }: Props) {
  const { sent, cause, spans, open } = cancellation;
  const end = Math.max(...spans.map((one) => Math.max(one.stopped ?? one.seen, one.span.at_s + one.span.duration_s)), sent);
  const length = Math.max(end - sent, 1e-6);
  const at = (time: number) => `${(Math.max(0, time - sent) / length) * 100}%`;
  return (
    <details className="cancel panel" open={spans.length <= 6}>
      <summary>
        Cancelled at {formatSeconds(sent - origin)} by {words(cause).toLowerCase()}: {spans.length} {spans.length === 1 ? "span" : "spans"} saw it{open > 0 ? <span className="bad">, {open} never confirmed that the work stopped</span> : spans.some((one) => one.refused) ? ", nothing was left running" : ", all were seen to stop"}
      </summary>
      <ol>
        {spans.slice(0, most).map((one) => (
          <li key={`${one.span.span_id} ${one.span.kind}`}>
            <button type="button" className="plain" aria-pressed={one.span.span_id === selected} onClick={() => showSpan(one.span.span_id)}><bdi>{one.span.service}</bdi> <span className="quiet"><bdi>{one.span.name}</bdi></span></button>
            <span className="track" aria-hidden="true">
              <i className="seen" style={{ left: at(one.seen) }} />
              {one.refused ? null : one.stopped === null ? <i className="open" style={{ left: at(one.seen) }} /> : <i className="work" style={{ left: at(one.seen), width: `calc(${at(one.stopped)} - ${at(one.seen)})` }} />}
            </span>
            <span className="say">{said(one, sent)}</span>
          </li>
        ))}
      </ol>
      {spans.length > most && <p className="quiet small">and {spans.length - most} more in the waterfall</p>}
    </details>
  );
}

function said({ cause, seen, stopped, refused, inferred }: Cancelled, sent: number) {
  if (refused) return <>{words(cause)}; refused before it started</>;
  const since = seen - sent;
  return (
    <>
      {words(cause)}, {since < 0.0005 ? "sent" : `seen ${formatSeconds(since)} later`};{" "}
      {stopped === null ? <b className="bad">never confirmed</b> : <>stopped {stopped - seen < 0.0005 ? "at once" : `after ${formatSeconds(stopped - seen)}`}</>}
      {inferred && <span className="inferred"> inferred</span>}
    </>
  );
}
