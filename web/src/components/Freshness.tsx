import { useEffect, useState } from "react";
import { ago, formatInstant, secondsSince } from "../model/instants.ts";
import { Icon } from "./Icon.tsx";
import { zone } from "./settings.ts";

// The watermark trails by a minute or two when all is well.
const behind = 600;

/** Up to when the numbers are final. Whatever is younger may still change. The age goes on while the page stays open. */
export function Freshness({ watermark, provisional }: { watermark: string | null; provisional: boolean }) {
  const shown = zone.use();
  const now = useNow();
  const late = watermark !== null && secondsSince(watermark, now) > behind;
  return (
    <span title={watermark ? `Spans ingested before ${formatInstant(watermark, shown)} are judged and final` : "Everything is judged while reading"}>
      {watermark ? <>Final up to <b>{ago(watermark, now)}</b></> : <>Judged while reading</>}
      {provisional && <> · <b>provisional</b>, may still change</>}
      {late && <span className="warn"> · <Icon name="warn" /> judging is behind; findings of the last minutes are missing</span>}
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
