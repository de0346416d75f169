import type { StageRow } from "../api/shapes.ts";
import { BarList, type Bar } from "../charts/BarList.tsx";
import { callOf, type Column } from "../components/columns.tsx";
import { Counts } from "../components/Counts.tsx";
import type { PlaceState } from "../components/place.ts";
import { ReportPage, type Seen } from "../components/ReportPage.tsx";
import { searchPath, windowOf } from "../model/filters.ts";
import { formatRatio } from "../model/seconds.ts";
import { place as placeName, stageSentence } from "../model/sentences.ts";
import { addCounts } from "../model/sums.ts";
import { words } from "../model/words.ts";

const columns: Column<StageRow>[] = [
  { key: "stage", label: "Stage", value: (row) => row.stage || row.peer, cell: (row) => <bdi>{row.stage || row.peer || "unnamed"}</bdi>, part: callOf, below: (row) => [{ filter: "service", value: row.service }, { filter: "route", value: row.route }] },
  { key: "peer", label: "Called service", value: (row) => row.peer, part: (row) => ({ filter: "peer", value: row.peer }) },
  { key: "calls", label: "Calls", value: (row) => row.calls, format: "count", compares: true },
  { key: "spend_p50_s", label: "Spend, median", means: "of calls that ran", value: (row) => row.spend_p50_s, format: "seconds", compares: true },
  { key: "spend_p95_s", label: "p95", means: "of calls that ran", value: (row) => row.spend_p95_s, format: "seconds", compares: true },
  { key: "degraded_ratio", label: "Did not run as meant", means: "calls whose decision was not to run", value: (row) => row.degraded_ratio, format: "ratio", tone: (row) => (row.degraded > 0 ? "warn" : ""), compares: true },
  { key: "decisions", label: "Decisions", value: (row) => row.calls - (row.decisions["run"] ?? 0), cell: (row) => <Counts counts={row.decisions} leave="run" />, wide: true },
  { key: "causes", label: "Cancelled by", value: (row) => addCounts([row.causes])[0]?.[1] ?? 0, cell: (row) => <Counts counts={row.causes} />, wide: true },
  { key: "phases", label: "Timed out in", value: (row) => addCounts([row.phases])[0]?.[1] ?? 0, cell: (row) => <Counts counts={row.phases} />, wide: true },
];

const keyOf = (row: StageRow) => [row.service, row.route, row.stage, row.peer].join(" ");

export function Stages() {
  return (
    <ReportPage
      name="stages" title="Stages" sentence={stageSentence} columns={columns} keyOf={keyOf} pathOf={tracesOf}
      none={{ title: "No stage was called", text: "A stage is a call with deadline.stage, or any outgoing call under its own name." }}
      visual={(seen) => <Degraded {...seen} />}
    />
  );
}

const colours = ["var(--service-1)", "var(--service-5)", "var(--service-3)", "var(--service-6)", "var(--service-0)", "var(--service-4)"];

function Degraded({ answer, before, place }: Seen<"stages">) {
  const worst = answer.rows.filter((row) => row.degraded > 0 && row.calls > 0).sort((a, b) => (b.degraded_ratio ?? 0) - (a.degraded_ratio ?? 0));
  if (worst.length === 0) return null;
  const decisions = addCounts(worst.map((row) => row.decisions)).map(([code]) => code).filter((code) => code !== "run");
  const bars = worst.map((row): Bar => {
    const was = before?.get(keyOf(row))?.degraded_ratio ?? null;
    return {
      key: keyOf(row), label: row.stage || row.peer, under: placeName(row.service, row.route), path: tracesOf(row, place), text: formatRatio(row.degraded_ratio),
      parts: decisions.map((code, i) => ({ label: words(code), value: (row.decisions[code] ?? 0) / row.calls, colour: colours[i % colours.length] ?? "" })),
      mark: was === null ? undefined : { value: was, label: `${formatRatio(was)} in the window held against` },
    };
  });
  return (
    <section className="panel block" aria-label="Stages that degrade">
      <h2>Share of calls that did not run as meant, by decision</h2>
      <BarList label="Degraded share by stage" bars={bars} />
    </section>
  );
}

function tracesOf(row: StageRow, place: PlaceState): string {
  return searchPath({ service: row.service, route: row.route, stage: row.stage }, windowOf(place.query));
}
