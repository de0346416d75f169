import { Link } from "wouter";

export interface Bar {
  key: string;
  label: string;
  /** Where the label comes from, such as the service of a stage. */
  under?: string;
  parts: { label: string; value: number; colour: string }[];
  /** The number in words. */
  text: string;
  path?: string;
  /** A line within the bar, such as the value a week earlier. */
  mark?: { value: number; label: string } | undefined;
}

interface Props {
  label: string;
  bars: readonly Bar[];
  most?: number;
}

/** Amounts side by side, the largest first as given. What does not fit is counted. */
export function BarList({ label, bars, most = 8 }: Props) {
  const shown = bars.slice(0, most);
  const whole = Math.max(...shown.map((bar) => Math.max(bar.mark?.value ?? 0, bar.parts.reduce((sum, part) => sum + part.value, 0))), 1e-12);
  const kinds = new Map(shown.flatMap((bar) => bar.parts.map((part) => [part.label, part.colour] as const)));
  return (
    <figure className="bars" aria-label={label}>
      <ol>
        {shown.map((bar) => (
          <li key={bar.key}>
            <span className="name" title={[bar.label, bar.under].filter(Boolean).join(", ")}>
              {bar.path ? <Link href={bar.path}><bdi>{bar.label}</bdi></Link> : <bdi>{bar.label}</bdi>}
              {bar.under && <span className="under"><bdi>{bar.under}</bdi></span>}
            </span>
            <span className="bar" aria-hidden="true">
              {bar.parts.map((part) => part.value > 0 && <i key={part.label} style={{ width: `${(part.value / whole) * 100}%`, background: part.colour }} title={part.label} />)}
              {bar.mark && <b style={{ left: `${(bar.mark.value / whole) * 100}%` }} title={bar.mark.label} />}
            </span>
            <span className="num">{bar.text}</span>
          </li>
        ))}
      </ol>
      <figcaption>
        {kinds.size > 1 && <span className="chart-legend">{[...kinds].map(([name, colour]) => <span key={name}><i className="swatch bars" style={{ "--c": colour } as React.CSSProperties} />{name}</span>)}</span>}
        {bars.length > most && <span className="quiet">and {bars.length - most} more in the table</span>}
      </figcaption>
    </figure>
  );
}
