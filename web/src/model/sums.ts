/** What several rows amount to together, the most first. */
export interface Group<Row> {
  key: string;
  rows: Row[];
  total: number;
}

export function groupBy<Row>(rows: readonly Row[], key: (row: Row) => string, amount: (row: Row) => number): Group<Row>[] {
  const groups = new Map<string, Group<Row>>();
  for (const row of rows) {
    const name = key(row);
    const group = groups.get(name) ?? { key: name, rows: [], total: 0 };
    group.rows.push(row);
    group.total += amount(row);
    groups.set(name, group);
  }
  return [...groups.values()].sort((a, b) => b.total - a.total);
}

export function sum<Row>(rows: readonly Row[], amount: (row: Row) => number): number {
  return rows.reduce((total, row) => total + amount(row), 0);
}

/** Counts by code, such as decisions, added up over rows; the most first. */
export function addCounts(counts: readonly Record<string, number>[]): [string, number][] {
  const total = new Map<string, number>();
  for (const one of counts) for (const [code, n] of Object.entries(one)) total.set(code, (total.get(code) ?? 0) + n);
  return [...total.entries()].sort((a, b) => b[1] - a[1]);
}
