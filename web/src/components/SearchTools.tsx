import { useState } from "react";
import { hasToken } from "../api/client.ts";
import { allTraces } from "../api/queries.ts";
import type { Exclusions } from "../model/exclusions.ts";
import { toCSV } from "../model/csv.ts";
import type { Filters } from "../model/filters.ts";
import { curlOf } from "../model/reports.ts";
import { formatCount } from "../model/seconds.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Icon } from "./Icon.tsx";
import { save } from "./ReportTools.tsx";

// What a spreadsheet takes, and the API finds in some minutes.
const most = 10_000;

/** A search outside the page: the traces it finds as CSV, and the command that asks the same. Reading far back takes long and can be stopped. */
export function SearchTools({ filters, without }: { filters: Filters; without: Exclusions }) {
  const [reading, setReading] = useState<AbortController | null>(null);
  const [said, setSaid] = useState("");
  const download = async () => {
    if (reading) return reading.abort();
    const stop = new AbortController();
    setReading(stop);
    setSaid("");
    let found = 0;
    try {
      const rows = await allTraces(filters, without, most, stop.signal, (count) => setSaid(`${formatCount(found = count)} found, stop`));
      if (rows.length > 0) save("laxity-traces.csv", toCSV(rows));
      setSaid(rows.length >= most ? `The newest ${formatCount(most)}` : rows.length === 0 ? "Nothing found" : "");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : `Could not read on after ${formatCount(found)}`);
    }
    setReading(null);
  };
  return (
    <>
      <button type="button" className="button" onClick={download} title={reading ? "Save what was found so far" : `The traces of this search, newest first, at most ${formatCount(most)}`}>
        <Icon name="download" />{said || (reading ? "Reading, stop" : "CSV")}
      </button>
      <CopyButton label="curl" text={() => curlOf(window.location.origin, "/traces", { ...filters, ...without }, hasToken())} />
    </>
  );
}
