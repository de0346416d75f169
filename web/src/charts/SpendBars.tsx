import { spendColours as colours, type Spend } from "../model/route.ts";
import { formatSeconds } from "../model/seconds.ts";

const most = colours.length;

/** Spend by stage, one bar a window, with the budget as a line. Whatever fits in no bar of its own is summed up. */
export function SpendBars({ rows }: { rows: readonly { label: string; spend: Spend }[] }) {
  const names = [...new Map(rows.flatMap((row) => row.spend.parts.map((part) => [part.key, part.label] as const)))];
  const drawn = names.slice(0, most);
  const colourOf = new Map(drawn.map(([key], i) => [key, colours[i] ?? ""]));
  const whole = Math.max(...rows.map(({ spend }) => Math.max(spend.budget ?? 0, spend.parts.reduce((sum, part) => sum + part.seconds, 0)))) * 1.02 || 1;
  if (names.length === 0) return <p className="quiet">No answered request with a budget was judged in this time.</p>;
  return (
    <figure className="spend">
      {rows.map(({ label, spend }) => {
        const rest = spend.parts.filter((part) => !colourOf.has(part.key)).reduce((sum, part) => sum + part.seconds, 0);
        const total = spend.parts.reduce((sum, part) => sum + part.seconds, 0);
        return (
          <div key={label} className="spend-row">
            <span className="name">{label}</span>
            <span className="bar" role="img" aria-label={`${label}: ${spend.parts.map((part) => `${part.label} ${formatSeconds(part.seconds)}`).join(", ")}; budget ${formatSeconds(spend.budget)}`}>
              {drawn.map(([key, name]) => {
                const seconds = spend.parts.find((part) => part.key === key)?.seconds ?? 0;
                return seconds > 0 && <i key={key} style={{ width: `${(seconds / whole) * 100}%`, background: colourOf.get(key) }} title={`${name} ${formatSeconds(seconds)}`}>{seconds / whole > 0.08 && <span>{formatSeconds(seconds)}</span>}</i>;
              })}
              {rest > 0 && <i style={{ width: `${(rest / whole) * 100}%`, background: "var(--rule-strong)" }} title={`the rest ${formatSeconds(rest)}`} />}
              {spend.budget !== null && <b style={{ left: `${(spend.budget / whole) * 100}%` }} title={`budget ${formatSeconds(spend.budget)}`} />}
            </span>
            <span className="num">{formatSeconds(total)}{spend.budget !== null && <span className="quiet"> of {formatSeconds(spend.budget)}</span>}</span>
          </div>
        );
      })}
      <figcaption className="chart-legend">
        {drawn.map(([key, name]) => <span key={key}><i className="swatch bars" style={{ "--c": colourOf.get(key) } as React.CSSProperties} />{name}</span>)}
        {names.length > most && <span><i className="swatch bars" style={{ "--c": "var(--rule-strong)" } as React.CSSProperties} />{names.length - most} more</span>}
        <span><i className="swatch was" style={{ "--c": "var(--bad)" } as React.CSSProperties} />budget</span>
      </figcaption>
    </figure>
  );
}
