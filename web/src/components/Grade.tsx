import { grade } from "../model/words.ts";

/** How a number is known: four bars for measured, none for unknown, and the word. */
export function Grade({ evidence, inferred }: { evidence: string | undefined; inferred: boolean | undefined }) {
  const known = grade(evidence);
  return (
    <>
      {known && (
        <span className="grade" title={known.meaning}>
          <svg viewBox="0 0 14 9" aria-hidden="true">
            {[0, 1, 2, 3].map((i) => <rect key={i} className={i < known.strength ? "on" : undefined} x={i * 3.6} y={6 - i * 2} width="2.6" height={3 + i * 2} />)}
          </svg>
          {known.name}
        </span>
      )}
      {inferred && <span className="inferred" title="Not recorded by the service; derived by a rule">inferred</span>}
    </>
  );
}
