export interface Leaver {
  duration_s: number;
  budget_s: number | null;
}

export interface Patience {
  /** Share of those who left that had left after so many seconds; a staircase from 0 to 1. */
  steps: { after: number; share: number }[];
  median: number;
  /** The median budget that they had been granted. */
  budget: number | null;
  /** Share of them that left before their budget was over. */
  early: number | null;
}

/** When clients give up, from those that did. Null without any. */
export function patienceOf(leavers: readonly Leaver[]): Patience | null {
  if (leavers.length === 0) return null;
  const waits = leavers.map((one) => one.duration_s).sort((a, b) => a - b);
  const budgets = leavers.flatMap((one) => (one.budget_s === null ? [] : [one.budget_s])).sort((a, b) => a - b);
  const granted = leavers.filter((one) => one.budget_s !== null);
  return {
    steps: waits.map((after, i) => ({ after, share: (i + 1) / waits.length })),
    median: waits[Math.floor((waits.length - 1) / 2)] ?? 0,
    budget: budgets[Math.floor((budgets.length - 1) / 2)] ?? null,
    early: granted.length === 0 ? null : granted.filter((one) => one.duration_s < (one.budget_s ?? 0)).length / granted.length,
  };
}
