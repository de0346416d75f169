const minus = "−";

/** A duration for reading: three significant digits in the unit that fits, with a real minus sign. */
export function formatSeconds(value: number | null | undefined, signed = false): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const sign = value < 0 ? minus : signed && value > 0 ? "+" : "";
  if (size === 0) return "0 s";
  if (size >= 9_999.5) return `${sign}${group(size.toFixed(0))} s`;
  if (size >= 0.9995) return `${sign}${group(digits(size))} s`;
  if (size >= 0.000_999_5) return `${sign}${digits(size * 1e3)} ms`;
  if (size >= 0.000_000_999_5) return `${sign}${digits(size * 1e6)} µs`;
  return `${sign}${digits(size * 1e9)} ns`;
}

function digits(size: number): string {
  const decimals = size >= 99.95 ? 1 : size >= 9.995 ? 2 : 3;
  return trimZeros(size.toFixed(decimals));
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function group(text: string): string {
  return text.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",");
}

/** One unit and one number of decimals for a column, so that the decimal points stand under each other. */
export interface Scale {
  unit: "s" | "ms" | "µs";
  factor: number;
  decimals: number;
}

export function scaleFor(largest: number): Scale {
  const size = Math.abs(largest);
  if (size >= 1) return { unit: "s", factor: 1, decimals: 3 };
  if (size >= 0.001) return { unit: "ms", factor: 1e3, decimals: size >= 0.1 ? 1 : 2 };
  return { unit: "µs", factor: 1e6, decimals: 1 };
}

/** A number for a column of `scale`. What would round to nothing there has a unit of its own. */
export function formatColumn(value: number | null | undefined, scale: Scale): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  const scaled = Math.abs(value) * scale.factor;
  if (value !== 0 && scaled < 10 ** -scale.decimals / 2) return formatSeconds(value);
  return (value < 0 ? minus : "") + group(scaled.toFixed(scale.decimals));
}

export function formatRatio(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const percent = Math.abs(value) * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.1) return value < 0 ? `>${minus}0.1 %` : "<0.1 %";
  return `${value < 0 ? minus : ""}${percent >= 9.95 ? percent.toFixed(0) : trimZeros(percent.toFixed(1))} %`;
}

export function formatCount(value: number): string {
  return group(String(Math.round(value)));
}
