import type { ReactNode } from "react";

/** A value with the two ways to narrow by it beside it. */
export function Narrow({ what, only, without, children }: { what: string; only?: (() => void) | undefined; without?: (() => void) | undefined; children: ReactNode }) {
  return (
    <span className="narrow">
      {children}
      <span className="narrow-by">
        {only && <button type="button" className="plain" aria-label={`Only ${what}`} title={`Only ${what}`} onClick={only}>+</button>}
        {without && <button type="button" className="plain" aria-label={`Without ${what}`} title={`Without ${what}`} onClick={without}>−</button>}
      </span>
    </span>
  );
}
