import { ago, formatInstant } from "../model/instants.ts";
import { zone } from "./settings.ts";

/** Up to when the numbers are final. Whatever is younger may still change. */
export function Freshness({ watermark, provisional }: { watermark: string | null; provisional: boolean }) {
  const shown = zone.use();
  return (
    <span title={watermark ? `Spans ingested before ${formatInstant(watermark, shown)} are judged and final` : "Everything is judged while reading"}>
      {watermark ? <>Final up to <b>{ago(watermark, Date.now())}</b></> : <>Judged while reading</>}
      {provisional && <> · <b>provisional</b>, may still change</>}
    </span>
  );
}
