import type { ReactNode } from "react";
import { useHealth, useReport } from "../api/queries.ts";
import type { Answer, ReportName, Reports } from "../api/shapes.ts";
import { reportExclusions, reportFilters } from "../model/reports.ts";
import { comparisonShort, windowLabel } from "../model/window.ts";
import type { Column } from "./columns.tsx";
import { FilterBar } from "./FilterBar.tsx";
import { Freshness } from "./Freshness.tsx";
import { usePlace, type PlaceState } from "./place.ts";
import { ReportTable } from "./ReportTable.tsx";
import { ReportTools } from "./ReportTools.tsx";
import { zone } from "./settings.ts";
import { Failure, FirstTrace, Loading, NothingHere, Stale } from "./States.tsx";

interface Props<Name extends ReportName> {
  name: Name;
  title: string;
  /** What the rows say, in a sentence. */
  sentence: (rows: Reports[Name][]) => string;
  /** Said when there is no row: what that means, and what to do where it is not good news. */
  none: { title: string; text: ReactNode };
  keyOf: (row: Reports[Name]) => string;
  columns: readonly Column<Reports[Name]>[];
  pathOf?: (row: Reports[Name], place: PlaceState) => string | null;
  visual?: (seen: Seen<Name>) => ReactNode;
}

/** What a report page draws from. */
export interface Seen<Name extends ReportName> {
  answer: Answer<Reports[Name]>;
  before: ReadonlyMap<string, Reports[Name]> | undefined;
  place: PlaceState;
}

/** A report: what it says in a sentence, a picture of it, its table, and the ways out of the page. */
export function ReportPage<Name extends ReportName>({ name, title, sentence, none, keyOf, columns, pathOf, visual }: Props<Name>) {
  const place = usePlace();
  const shown = zone.use();
  const asked = { ...place.filters, ...place.without };
  const leaves = reportExclusions(name);
  const report = useReport(name, asked, place.window);
  const compared = useReport(name, asked, place.compared);
  const data = useHealth().data?.data;
  if (data && data.hops === 0 && data.spans === 0) return <FirstTrace />;
  const answer = report.data;
  const before = place.compared && compared.data && !compared.isPlaceholderData ? new Map(compared.data.rows.map((row) => [keyOf(row), row])) : undefined;
  return (
    <>
      <title>{`${title} · Laxity`}</title>
      <div className="page-head">
        <div>
          <p className="kicker">{title}</p>
          <h1>{answer ? (answer.rows.length > 0 ? sentence(answer.rows) : answer.watermark === null ? "Nothing is judged yet" : none.title) : title}</h1>
          <p className="facts small">
            <span>{windowLabel(place.window, shown)}</span>
            {place.compared && <span>against {comparisonShort[place.comparison]}{compared.isError && ", which could not be read"}</span>}
            {answer && <Freshness watermark={answer.watermark} provisional={answer.provisional ?? false} />}
          </p>
        </div>
        <ReportTools name={name} filters={{ ...asked, ...place.window }} />
      </div>
      <FilterBar names={reportFilters[name]} leaves={leaves} place={place} />
      {answer && <Stale error={report.error} at={report.dataUpdatedAt} retry={report.refetch} />}
      {report.isPending && <Loading what={title} rows={10} />}
      {report.isError && !answer && <Failure error={report.error} retry={report.refetch} />}
      {answer && answer.rows.length === 0 && <NothingHere place={place} names={reportFilters[name]} leaves={leaves} newest={data?.newest_at ?? null}>{answer.watermark === null ? <>What is here comes from a worker: run <code>laxity worker</code> for this database, or everything with <code>laxity up</code>.</> : none.text}</NothingHere>}
      {answer && answer.rows.length > 0 && (
        <div className={report.isPlaceholderData ? "stack stale" : "stack"} aria-busy={report.isPlaceholderData}>
          {visual?.({ answer, before, place })}
          <section className="panel" aria-label={`${title}, table`}>
            <ReportTable name={`${title}, table`} rows={answer.rows} columns={columns} keyOf={keyOf} leaves={leaves} before={before} beforeLabel={comparisonShort[place.comparison]} {...(pathOf ? { pathOf: (row: Reports[Name]) => pathOf(row, place) } : {})} place={place} />
            {report.hasNextPage && (
              <p className="table-foot"><span className="quiet small">The first {answer.rows.length} rows.</span> <button type="button" className="button" disabled={report.isFetchingNextPage} onClick={() => void report.fetchNextPage()}>{report.isFetchingNextPage ? "Reading" : "Read more"}</button></p>
            )}
          </section>
        </div>
      )}
    </>
  );
}
