import { limitText, type Alert } from "../model/alerts.ts";
import { words } from "../model/words.ts";

/** Every alert there is, and what it rests on. */
export function AlertTable({ alerts }: { alerts: readonly Alert[] }) {
  return (
    <section className="panel" aria-label="Every alert">
      <div className="alert-head"><h2>Every alert</h2></div>
      <div className="table-scroll">
        <table className="report">
          <thead><tr>{["Alert", "State", "Limit", "What it means", "Against false alarms"].map((head) => <th key={head} scope="col" className="plain-head">{head}</th>)}</tr></thead>
          <tbody>
            {alerts.map((alert) => (
              <tr key={alert.name}>
                <td><b>{alert.name}</b><span className="below">{words(alert.severity)}</span></td>
                <td data-label="State">{alert.outside ? "By Prometheus" : words(alert.state)}</td>
                <td data-label="Limit">{limitText(alert)}</td>
                <td data-label="What it means" className="text wide">{alert.meaning}</td>
                <td data-label="Against false alarms" className="text wide quiet">{alert.guard}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
