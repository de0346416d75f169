import { formatCount } from "../model/seconds.ts";
import { addCounts } from "../model/sums.ts";
import { words } from "../model/words.ts";

/** Counts by code, the most first. */
export function Counts({ counts, leave }: { counts: Record<string, number>; leave?: string }) {
  const listed = addCounts([counts]).filter(([code]) => code !== leave);
  if (listed.length === 0) return <>–</>;
  return <span className="counts">{listed.map(([code, n]) => <span key={code}>{words(code)} <b>{formatCount(n)}</b></span>)}</span>;
}
