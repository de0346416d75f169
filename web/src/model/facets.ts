/** How many rows have each value; a row counts once for a value it has twice. */
export function countBy<Row>(rows: readonly Row[], values: (row: Row) => readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    for (const value of new Set(values(row))) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}
