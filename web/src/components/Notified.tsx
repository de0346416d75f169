import { useState } from "react";
import { testAlert } from "../api/alerts.ts";
import type { AlertTest } from "../api/shapes.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Icon } from "./Icon.tsx";
import { useChange } from "./Silences.tsx";

const recipe = "laxity up --alert-webhook https://hooks.example/laxity --public-url https://laxity.example";

/** Who is told of alerts, and whether telling them works; how to name somebody where nobody is. */
export function Notified({ tells, names }: { tells: readonly string[]; names: readonly string[] }) {
  return (
    <section className="panel block" aria-label="Who is told">
      <h2>Who is told</h2>
      {tells.length === 0 ? <Nobody /> : <Told tells={tells} names={names} />}
    </section>
  );
}

function Nobody() {
  return (
    <>
      <p>Nobody: alerts are listed here only. To be told of each that fires and is resolved, with its worst traces, name a webhook:</p>
      <div className="recipe">
        <div className="row"><h3>Start with a webhook</h3><CopyButton label="Copy" text={() => recipe} /></div>
        <pre tabIndex={0} role="region" aria-label="Start with a webhook">{recipe}</pre>
      </div>
      <p className="quiet small">An Alertmanager is told with <code>--alertmanager http://127.0.0.1:9093</code>. Each is also a key of laxity.yaml, <code>alert-webhook</code> and <code>alertmanager</code>, and a variable, <code>LAXITY_ALERT_WEBHOOK</code> and <code>LAXITY_ALERTMANAGER</code>. This page then has a button that tests it.</p>
    </>
  );
}

function Told({ tells, names }: { tells: readonly string[]; names: readonly string[] }) {
  const { run, busy, said } = useChange();
  const [name, setName] = useState(names[0] ?? "");
  const [result, setResult] = useState<AlertTest | null>(null);
  const test = () => run(async () => {
    setResult(null);
    setResult(await testAlert(name));
  });
  return (
    <>
      <ul className="small">{tells.map((who) => <li key={who}>{who}</li>)}</ul>
      <div className="actions">
        <select aria-label="Alert to test" value={name} onChange={(event) => setName(event.target.value)}>{names.map((one) => <option key={one}>{one}</option>)}</select>
        <button type="button" className="button" disabled={busy} onClick={() => void test()}>{busy ? "Telling" : "Send a test"}</button>
      </div>
      <p className="quiet small">A test says that it is one. It changes no state and is in no history.</p>
      <ul className="small" role="status">
        {result?.told.map((one) => <li key={one.to} className={one.error ? "bad" : "good"}><Icon name={one.error ? "error" : "good"} /> {one.to}: {one.error || "delivered"}</li>)}
      </ul>
      {said && <p className="bad small" role="alert">{said}</p>}
    </>
  );
}
