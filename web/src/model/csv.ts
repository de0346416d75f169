type Value = unknown;

/**
 * Rows as RFC 4180 text under the API's own names; objects become columns such as `decisions.skip`, lists their parts with spaces
 * between. A text that a spreadsheet would run as a formula gets an apostrophe in front.
 */
export function toCSV(rows: readonly object[]): string {
  const flat = rows.map((row) => flatten(row));
  const names = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  const lines = [names.map(cell), ...flat.map((row) => names.map((name) => cell(row.get(name) ?? null)))];
  return lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
}

function flatten(value: object, prefix = "", into = new Map<string, Value>()): Map<string, Value> {
  for (const [name, part] of Object.entries(value) as [string, Value][]) {
    const key = prefix + name;
    if (Array.isArray(part)) {
      if (part.every((item) => typeof item !== "object")) into.set(key, part.join(" "));
    } else if (part !== null && typeof part === "object") flatten(part, `${key}.`, into);
    else into.set(key, part);
  }
  return into;
}

function cell(value: Value): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${String(value)}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
