import type { AttributionRow } from "../api/shapes.ts";
import { stepsOf } from "../model/changes.ts";
import { formatSeconds } from "../model/seconds.ts";

/** The way from the mean margin before to the one after: what took from it and what gave to it. */
export function ChangeWaterfall({ row }: { row: AttributionRow }) {
  const before = row.before.margin_mean_s;
  const after = row.after.margin_mean_s;
  if (before === null || after === null) return null;
  const steps = stepsOf(row);
  const values = [0, before, after, ...steps.flatMap((step) => [step.from, step.to])];
  const least = Math.min(...values);
  const most = Math.max(...values);
  const at = (value: number) => ((value - least) / (most - least || 1)) * 100;
  const span = (from: number, to: number) => ({ left: `${at(Math.min(from, to))}%`, width: `max(2px, ${Math.abs(at(to) - at(from))}%)` });
  return (
    <figure className="change" aria-label={`Mean margin from ${formatSeconds(before)} to ${formatSeconds(after)}`}>
      <ol>
        <li><span className="name">Before</span><span className="bar" aria-hidden="true"><i className="total" style={span(0, before)} /></span><span className="num">{formatSeconds(before)}</span></li>
        {steps.map((step) => (
          <li key={step.key}>
            <span className="name"><bdi>{step.label}</bdi></span>
            <span className="bar" aria-hidden="true"><i className={step.change < 0 ? "took" : "gave"} style={span(step.from, step.to)} /></span>
            <span className={`num${step.change < 0 ? " bad" : ""}`}>{formatSeconds(step.change, true)}</span>
          </li>
        ))}
        <li><span className="name">After</span><span className="bar" aria-hidden="true"><i className="total" style={span(0, after)} /></span><span className="num">{formatSeconds(after)}</span></li>
      </ol>
    </figure>
  );
}
