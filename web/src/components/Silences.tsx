import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addSilence, endSilence, useSilences } from "../api/alerts.ts";
import { ApiError } from "../api/client.ts";
import type { NewSilence, Silence } from "../api/shapes.ts";
import { again, matchersOf, readMatchers, writeMatchers, type Entry } from "../model/alerts.ts";
import { formatInstant } from "../model/instants.ts";
import { Icon } from "./Icon.tsx";
import { zone } from "./settings.ts";

const lengths = [["30m", "30 minutes"], ["2h", "2 hours"], ["8h", "8 hours"], ["1d", "a day"], ["7d", "a week"]] as const;

/** Runs a change and reads again what it may have changed. `said` is what went wrong. */
export function useChange() {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState("");
  const run = async (act: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setSaid("");
    try {
      await act();
      await queries.invalidateQueries({ queryKey: ["alerts"] });
      return true;
    } catch (error) {
      setSaid(error instanceof ApiError && error.advice ? `${error.message}: ${error.advice}` : error instanceof Error ? error.message : "The change failed");
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { run, busy, said, setSaid };
}

/** Silences one instance of an alert for a while. */
export function SilenceButton({ entry }: { entry: Entry }) {
  const { run, busy, said } = useChange();
  const [length, setLength] = useState("2h");
  return (
    <span className="actions">
      <button type="button" className="button" disabled={busy} onClick={() => void run(() => addSilence({ matchers: matchersOf(entry), for: length }))}>Silence for</button>
      <Length value={length} set={setLength} label={`How long to silence ${entry.alert.name}`} />
      {said && <span className="bad small" role="alert">{said}</span>}
    </span>
  );
}

function Length({ value, set, label }: { value: string; set: (value: string) => void; label: string }) {
  return <select aria-label={label} value={value} onChange={(event) => set(event.target.value)}>{lengths.map(([length, name]) => <option key={length} value={length}>{name}</option>)}</select>;
}

/** The silences that are, were within a week, and a form for another. */
export function Silences() {
  const silences = useSilences();
  const { run, busy, said, setSaid } = useChange();
  const [ended, setEnded] = useState<{ silence: Silence; until: string } | null>(null);
  const rows = silences.data?.rows ?? [];
  const end = async (silence: Silence) => {
    if (await run(() => endSilence(silence.id))) setEnded({ silence, until: silence.until });
  };
  const undo = async () => {
    const silence = ended && again(ended.silence, ended.until, Date.now());
    if (!silence || (await run(() => addSilence(silence)))) setEnded(null);
  };
  return (
    <section className="panel block" aria-label="Silences">
      <h2>Silences</h2>
      <p className="quiet small">Silenced alerts are evaluated and listed; nobody is told. What still fires when a silence ends is told then.</p>
      {ended && <p className="notice" role="status"><span>The silence of {writeMatchers(ended.silence.matchers)} has ended.</span><button type="button" className="button" disabled={busy} onClick={() => void undo()}>Undo</button></p>}
      {said && <p className="bad small" role="alert">{said}</p>}
      {silences.isError && <p className="bad small">Silences could not be read: {silences.error.message}</p>}
      {silences.isPending && <p className="quiet small pending">Reading the silences …</p>}
      {silences.data && rows.length === 0 && <p className="small">Nothing is silenced.</p>}
      <ul className="silences">{rows.map((silence) => <Row key={silence.id} silence={silence} busy={busy} end={end} />)}</ul>
      <NewOne add={(silence) => run(() => addSilence(silence))} busy={busy} complain={setSaid} />
    </section>
  );
}

function Row({ silence, busy, end }: { silence: Silence; busy: boolean; end: (silence: Silence) => Promise<void> }) {
  const shown = zone.use();
  return (
    <li className={silence.active ? undefined : "quiet"}>
      <span>
        <b><bdi>{writeMatchers(silence.matchers)}</bdi></b>
        <span className="below small">{silence.active ? "until" : "ended"} {formatInstant(silence.until, shown)}{silence.comment && <> · <bdi>{silence.comment}</bdi></>}</span>
      </span>
      {silence.active && <button type="button" className="button" disabled={busy} aria-label={`End the silence of ${writeMatchers(silence.matchers)}`} onClick={() => void end(silence)}><Icon name="cross" /> End</button>}
    </li>
  );
}

function NewOne({ add, busy, complain }: { add: (silence: NewSilence) => Promise<boolean>; busy: boolean; complain: (what: string) => void }) {
  const [text, setText] = useState("");
  const [length, setLength] = useState("2h");
  const [comment, setComment] = useState("");
  const send = async () => {
    const matchers = readMatchers(text);
    if (typeof matchers === "string") return complain(matchers);
    if (await add({ matchers, for: length, ...(comment ? { comment } : {}) })) {
      setText("");
      setComment("");
    }
  };
  return (
    <form className="actions" aria-label="New silence" onSubmit={(event) => { event.preventDefault(); void send(); }}>
      <input className="grow" aria-label="Labels to silence" placeholder="alertname=OrphanWork, service=shop" value={text} onChange={(event) => setText(event.target.value)} />
      <input className="grow" aria-label="Comment" placeholder="Why" maxLength={1000} value={comment} onChange={(event) => setComment(event.target.value)} />
      <Length value={length} set={setLength} label="How long" />
      <button type="submit" className="button primary" disabled={busy}>Silence</button>
    </form>
  );
}
