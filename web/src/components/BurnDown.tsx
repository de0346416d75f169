import { memo } from "react";
import type { Charge } from "../model/statement.ts";
import { formatSeconds } from "../model/seconds.ts";
import { position, type Range } from "../model/timeline.ts";

const height = 100;

interface Props {
  charges: readonly Charge[];
  /** Start of the entry span, seconds after the start of the trace. */
  origin: number;
  range: Range;
  opening: number | null;
  closing: number | null;
  colourOf: (service: string) => string;
  selectedLine: number | null;
}

/** The balance over time: it falls as time is spent, each stretch in the colour of what it was charged to. */
export const BurnDown = memo(function BurnDown({ charges, origin, range, opening, closing, colourOf, selectedLine }: Props) {
  const first = charges[0];
  const last = charges.at(-1);
  if (!first || !last) return null;
  const x = (at: number) => position(range, origin + at) * 1000;
  const top = opening ?? 1;
  const bottom = charges.reduce((least, charge) => Math.min(least, charge.after ?? 0), 0);
  const span = Math.max(top - bottom, 1e-9);
  const y = (balance: number | null) => ((top - (balance ?? top)) / span) * (height - 4) + 2;
  const zero = opening === null ? height - 2 : y(0);
  const band = opening === null ? height * 0.62 : null;
  const slice = (charge: Charge) => `M${x(charge.from)} ${zero}V${band ?? y(charge.before)}L${x(charge.to)} ${band ?? y(charge.after)}V${zero}Z`;
  // One path for each colour: a long trace has tens of thousands of stretches.
  const slices = new Map<string, string[]>();
  for (const charge of charges) {
    const colour = colourOf(charge.line.peer || charge.line.service || "");
    slices.set(colour, slices.get(colour) ?? []);
    slices.get(colour)?.push(slice(charge));
  }
  const current = charges.find((charge) => charge.line.n === selectedLine);
  const points = charges.flatMap((charge) => [[charge.from, charge.before], [charge.to, charge.after]] as const);
  const path = points.map(([at, balance], i) => `${i === 0 ? "M" : "L"}${x(at)} ${y(balance)}`).join("");
  return (
    <>
      <svg className="burn" viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" role="img" aria-label={opening === null ? "What the time was spent on" : `The budget falls from ${formatSeconds(opening)} to ${formatSeconds(closing)}`}>
        {[...slices].map(([colour, paths]) => <path key={colour} className="slice" fill={colour} d={paths.join("")} />)}
        {current && <path className="slice current" fill={colourOf(current.line.peer || current.line.service || "")} d={slice(current)} />}
        {opening !== null && <line className="zero" x1={x(0)} x2="1000" y1={zero} y2={zero} vectorEffect="non-scaling-stroke" />}
        {opening !== null && <path className="line" d={path} vectorEffect="non-scaling-stroke" />}
        {opening !== null && bottom < 0 && <clipPath id="burn-below"><rect x="-1e5" width="2e5" y={zero} height={height} /></clipPath>}
        {opening !== null && bottom < 0 && <path className="line over" d={path} vectorEffect="non-scaling-stroke" clipPath="url(#burn-below)" />}
      </svg>
      {opening !== null && (
        <>
          <Label at={position(range, origin)} y={2} text={formatSeconds(opening)} />
          <Label at={position(range, origin + last.to)} y={endLabel(position(range, origin + last.to), (y(last.after) / height) * 70)} text={formatSeconds(closing)} bad={(closing ?? 0) < 0} />
        </>
      )}
    </>
  );
});

// Left of the end of the line a label stands above it, or it would hide it.
const left = 0.85;

function endLabel(at: number, end: number): number {
  return at > left ? Math.max(0, end - 28) : Math.max(18, end - 8);
}

function Label({ at, y, text, bad = false }: { at: number; y: number; text: string; bad?: boolean }) {
  if (at < -0.01 || at > 1.01) return null;
  const side = at > left ? { right: `${(1 - at) * 100}%` } : { left: `${at * 100}%` };
  return <span className={`burn-label${bad ? " bad" : ""}`} style={{ ...side, top: y, margin: "0 4px" }}>{text}</span>;
}
