/** A value for a bucket that begins at an instant, in milliseconds since 1970. */
export interface Point {
  at: number;
  value: number | null;
}

export interface Series {
  key: string;
  label: string;
  colour: string;
  points: readonly Point[];
  /** `was` is what the window is held against: dashed. */
  kind: "line" | "was" | "bars" | "stack";
}

/** Points without values in between, as separate stretches: a line drawn over a gap would claim what was not measured. */
export function stretches(points: readonly Point[], step: number): { at: number; value: number }[][] {
  return unbroken(points.flatMap(({ at, value }) => (value === null ? [] : [{ at, value }])), step);
}

/** The smallest and largest value drawn, zero included; stacked series are added up first. */
export function bounds(series: readonly Series[], more: readonly number[] = []): [number, number] {
  const values = [0, ...more];
  const stacked = new Map<number, number>();
  for (const { kind, points } of series) {
    for (const { at, value } of points) {
      if (value === null) continue;
      if (kind === "stack") stacked.set(at, (stacked.get(at) ?? 0) + value);
      else values.push(value);
    }
  }
  values.push(...stacked.values());
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

/** Neighbours without a gap between them, as separate parts. */
export function unbroken<P extends { at: number }>(points: readonly P[], step: number): P[][] {
  const parts: P[][] = [];
  for (const point of points) {
    const part = parts.at(-1);
    const last = part?.at(-1);
    if (part && last && point.at - last.at <= 2.5 * step) part.push(point);
    else parts.push([point]);
  }
  return parts;
}

/** The stacked series as layers over the same instants, the first at the bottom. */
export function layers(series: readonly Series[]): { series: Series; points: { at: number; low: number; high: number }[] }[] {
  const instants = [...new Set(series.flatMap((one) => one.points.map((point) => point.at)))].sort((a, b) => a - b);
  const base = new Map<number, number>();
  return series.map((one) => {
    const values = new Map(one.points.map((point) => [point.at, point.value ?? 0]));
    return {
      series: one,
      points: instants.map((at) => {
        const low = base.get(at) ?? 0;
        const high = low + (values.get(at) ?? 0);
        base.set(at, high);
        return { at, low, high };
      }),
    };
  });
}

/** The instant among those of the series that is nearest to `at`; null without any. */
export function nearest(series: readonly Series[], at: number): number | null {
  let best: number | null = null;
  for (const { points } of series) {
    for (const point of points) if (best === null || Math.abs(point.at - at) < Math.abs(best - at)) best = point.at;
  }
  return best;
}
