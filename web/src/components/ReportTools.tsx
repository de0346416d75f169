import { useState } from "react";
import { hasToken } from "../api/client.ts";
import { allRows } from "../api/queries.ts";
import type { ReportName } from "../api/shapes.ts";
import { toCSV } from "../model/csv.ts";
import { curlOf, reportParams, type Asked } from "../model/reports.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Icon } from "./Icon.tsx";

/** A report outside the page: all its rows as CSV, and the command that asks the same. */
export function ReportTools({ name, filters }: { name: ReportName; filters: Asked }) {
  const [said, setSaid] = useState("");
  const download = async () => {
    setSaid("Reading");
    try {
      save(`laxity-${name}.csv`, toCSV(await allRows(name, filters)));
      setSaid("");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : "Could not read the rows");
    }
  };
  return (
    <div className="report-tools">
      <button type="button" className="button" onClick={download} disabled={said === "Reading"} title="Every row, under the names of the API"><Icon name="download" />{said || "CSV"}</button>
      <CopyButton label="curl" text={() => curlOf(window.location.origin, `/reports/${name}`, reportParams(name, filters), hasToken())} />
    </div>
  );
}

export function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: name.endsWith(".json") ? "application/json" : "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
