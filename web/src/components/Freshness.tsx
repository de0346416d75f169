import { useEffect, useState } from "react";
import { ago, formatInstant } from "../model/instants.ts";
import { judgingConcern } from "../model/judging.ts";
import { Icon } from "./Icon.tsx";
import { zone } from "./settings.ts";

interface Props {
  watermark: string | null;
  provisional: boolean;
  /** The watermark of what was judged, where the page shows more than what rests on the other. */
  judged?: string | null | undefined;
}

/** Up to when the numbers are final. Whatever is younger may still change. The age goes on while the page stays open. */
export function Freshness({ watermark, provisional, judged = watermark }: Props) {
  const shown = zone.use();
  const now = useNow();
  const concern = judgingConcern(judged, now);
  return (
    <span {...(watermark ? { title: `Spans ingested before ${formatInstant(watermark, shown)} are judged and final` } : {})}>
      {watermark && <>Final up to <b>{ago(watermark, now)}</b></>}
      {watermark && provisional && <> · <b>provisional</b>, may still change</>}
      {concern && <span className="warn">{watermark && " · "}<Icon name="warn" /> {concern}</span>}
    </span>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
