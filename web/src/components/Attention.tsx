import type { ReactNode } from "react";
import { Link } from "wouter";
import { useAlerts } from "../api/alerts.ts";
import { useReport } from "../api/queries.ts";
import type { Answer, MarginRow } from "../api/shapes.ts";
import { BarList } from "../charts/BarList.tsx";
import { Columns } from "../charts/Columns.tsx";
import { loud } from "../model/alerts.ts";
import { cancellationConcern, degrading, degradingSentence, forecast, missedConcern, missedOverTime, noForecast, orphanConcern, runningOut } from "../model/concerns.ts";
import { windowOf, withFilter } from "../model/filters.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";
import { byPlace, forNobody, place as placeName } from "../model/sentences.ts";
import { groupBy } from "../model/sums.ts";
import { comparedWindow } from "../model/window.ts";
import { words } from "../model/words.ts";
import { Icon } from "./Icon.tsx";
import type { PlaceState } from "./place.ts";
import { Trend } from "./Trend.tsx";

const mostRoutes = 3;
const mostStages = 2;

interface Props {
  place: PlaceState;
  margin: Answer<MarginRow>;
}

/** What needs attention, in the order in which it does: each a sentence, a small picture and a way in. */
export function Attention({ place, margin }: Props) {
  return (
    <section className="attention" aria-label="What needs attention">
      <Firing place={place} />
      <RunningOut place={place} margin={margin} />
      <Stages place={place} />
      <Orphans place={place} />
      <Missed place={place} margin={margin} />
      <Cancelled place={place} />
    </section>
  );
}

type Tone = "bad" | "warn" | "good";
const icons = { bad: "error", warn: "warn", good: "good" } as const;

function Concern({ tone, path, children, picture }: { tone: Tone; path: string; children: ReactNode; picture?: ReactNode }) {
  return (
    <article className="concern panel">
      <div className="say">
        <span className={tone}><Icon name={icons[tone]} label={{ bad: "Wrong", warn: "Look at this", good: "Fine" }[tone]} /></span>
        <p><Link href={path}>{children}</Link></p>
      </div>
      {picture && <div className="picture">{picture}</div>}
    </article>
  );
}

function Pending({ what, error }: { what: string; error: Error | null }) {
  return <article className={`concern panel quiet${error ? "" : " pending"}`}><div className="say"><span><Icon name="info" /></span><p>{error ? `${what} could not be read: ${error.message}` : `Looking at ${what} …`}</p></div></article>;
}

function path(place: PlaceState, to: string, filters: Record<string, string> = {}): string {
  const query = withFilter(windowOf(place.query), filters).toString();
  return query ? `${to}?${query}` : to;
}

const mostAlerts = 2;

/** Alerts that fire; where none does, nothing is said. */
function Firing({ place }: { place: PlaceState }) {
  const firing = loud(useAlerts().data?.rows ?? []);
  return (
    <>
      {firing.slice(0, mostAlerts).map(({ alert, summary }, i) => <Concern key={i} tone="bad" path={path(place, "/alerts")}>{alert.name} fires: <bdi>{summary}</bdi></Concern>)}
      {firing.length > mostAlerts && <Concern tone="bad" path={path(place, "/alerts")}>{firing.length - mostAlerts} more {firing.length === mostAlerts + 1 ? "alert fires" : "alerts fire"}</Concern>}
    </>
  );
}

function RunningOut({ place, margin }: Props) {
  const rows = runningOut(margin.rows);
  if (rows.length === 0) return <Concern tone="good" path={path(place, "/")}>{noForecast(margin.rows)}</Concern>;
  return rows.slice(0, mostRoutes).map((row) => (
    <Concern key={`${row.service} ${row.route}`} tone="bad" path={path(place, "/route", { service: row.service, route: row.route, from: "now-28d", to: "" })} picture={<FourWeeks row={row} />}>
      <bdi>{placeName(row.service, row.route)}</bdi> {forecast(row)}
    </Concern>
  ));
}

/** The weeks that a forecast rests on. */
function FourWeeks({ row }: { row: MarginRow }) {
  const weeks = useReport("margin", { service: row.service, route: row.route }, { from: "now-28d", to: "" });
  const found = weeks.data?.rows.find((one) => one.service === row.service && one.route === row.route);
  if (weeks.isPending) return <span className="pending quiet small">Reading four weeks …</span>;
  if (!weeks.data || !found) return null;
  return <Trend buckets={found.buckets} window={weeks.data.window} />;
}

function Stages({ place }: { place: PlaceState }) {
  const stages = useReport("stages", {}, place.window);
  const before = useReport("stages", {}, comparedWindow(place.window, "week"));
  if (!stages.data) return <Pending what="the stages" error={stages.error} />;
  const found = degrading(stages.data.rows, before.data?.rows ?? []);
  if (found.length === 0) return <Concern tone="good" path={path(place, "/stages")}>No stage is skipped, replaced or cut short more often than a week earlier</Concern>;
  return found.slice(0, mostStages).map((one) => (
    <Concern
      key={[one.row.service, one.row.route, one.row.stage].join(" ")} tone="warn" path={path(place, "/stages", { service: one.row.service, route: one.row.route, stage: one.row.stage })}
      picture={<BarList label="Share that did not run as meant" bars={[
        { key: "now", label: "now", text: formatRatio(one.row.degraded_ratio), parts: [{ label: "now", value: one.row.degraded_ratio ?? 0, colour: "var(--warn)" }] },
        ...(one.was === null ? [] : [{ key: "was", label: "week ago", text: formatRatio(one.was), parts: [{ label: "now", value: one.was, colour: "var(--warn)" }] }]),
      ]} />}
    >
      {degradingSentence(one)}
    </Concern>
  ));
}

function Orphans({ place }: { place: PlaceState }) {
  const orphans = useReport("orphans", {}, place.window);
  if (!orphans.data) return <Pending what="orphan work" error={orphans.error} />;
  const said = orphanConcern(orphans.data.rows);
  if (orphans.data.watermark === null) return <Concern tone="warn" path={path(place, "/orphans")}>Nothing is judged yet, so nobody knows who works for callers that left</Concern>;
  if (!said) return <Concern tone="good" path={path(place, "/orphans")}>Nobody works for callers that left</Concern>;
  const groups = groupBy(byPlace(orphans.data.rows), (row) => row.service, orphans.data.rows.some((row) => row.orphan_s > 0) ? (row) => row.orphan_s : forNobody).filter((group) => group.total > 0);
  return (
    <Concern tone="bad" path={path(place, "/orphans")} picture={<BarList label="Seconds by service" most={3} bars={groups.map((group) => ({ key: group.key, label: group.key, text: formatSeconds(group.total), parts: [{ label: "s", value: group.total, colour: "var(--bad)" }] }))} />}>
      {said}
    </Concern>
  );
}

function Missed({ place, margin }: Props) {
  const said = missedConcern(margin.rows);
  if (!said) return <Concern tone="warn" path={path(place, "/findings", { rule: "missing_budget" })}>No request carried a budget, so nothing can be missed</Concern>;
  const over = missedOverTime(margin);
  const most = Math.max(0, ...over.map((point) => point.value ?? 0));
  return <Concern tone={most >= 0.01 ? "bad" : "good"} path={path(place, "/search", { class: "late_or_failed" })} picture={<Columns points={over} label={`At most ${formatRatio(most)} missed`} />}>{said}</Concern>;
}

function Cancelled({ place }: { place: PlaceState }) {
  const cancellations = useReport("cancellations", {}, place.window);
  if (!cancellations.data) return <Pending what="cancellations" error={cancellations.error} />;
  const said = cancellationConcern(cancellations.data.rows);
  if (!said) return <Concern tone="good" path={path(place, "/cancellations")}>Nothing was cancelled</Concern>;
  const groups = groupBy(cancellations.data.rows, (row) => row.cause, (row) => row.sent);
  return (
    <Concern tone="warn" path={path(place, "/cancellations")} picture={<BarList label="Cancellations by cause" most={3} bars={groups.map((group) => ({ key: group.key, label: words(group.key), text: formatCount(group.total), parts: [{ label: "n", value: group.total, colour: "var(--service-0)" }] }))} />}>
      {said}
    </Concern>
  );
}
