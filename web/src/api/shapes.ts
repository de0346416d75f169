// The shapes of the API under the names the pages use.
import type { components, paths } from "./schema.gen.ts";

type Schemas = components["schemas"];

export type Attributes = Schemas["Attributes"];
export type Finding = Schemas["Finding"];
export type Health = Schemas["Health"];
export type Line = Schemas["Line"];
export type LineKind = Schemas["LineKind"];
export type MarginBucket = Schemas["MarginBucket"];
export type MarginReport = Schemas["MarginReport"];
export type MarginRow = Schemas["MarginRow"];
export type ServiceList = Schemas["ServiceList"];
export type Span = Schemas["Span"];
export type Statement = Schemas["Statement"];
export type Trace = Schemas["Trace"];
export type TraceRow = Schemas["TraceRow"];
export type TraceSearch = Schemas["TraceSearch"];

export type Advice = Schemas["Advice"];
export type AdviceRow = Schemas["AdviceRow"];
export type RouteAdvice = Advice["routes"][number];
export type AlertHistory = Schemas["AlertHistory"];
export type AlertLabels = Schemas["AlertLabels"];
export type AlertList = Schemas["AlertList"];
export type AlertTest = Schemas["AlertTest"];
export type NewSilence = Schemas["NewSilence"];
export type Silence = Schemas["Silence"];
export type SilenceList = Schemas["SilenceList"];
export type CellReport = Schemas["CellReport"];
export type CellRow = Schemas["CellRow"];
export type PatienceReport = Schemas["PatienceReport"];
export type PatienceRow = Schemas["PatienceRow"];
export type SpendRow = Schemas["SpendRow"];
export type CancellationRow = Schemas["CancellationRow"];
export type AttributionReport = Schemas["AttributionReport"];
export type AttributionRow = Schemas["AttributionRow"];
export type ChangePart = Schemas["ChangePart"];
export type Facets = Schemas["Facets"];
export type Marker = Schemas["Marker"];
export type MarkerList = Schemas["MarkerList"];
export type ReserveRow = Schemas["ReserveRow"];
export type ConformanceRow = Schemas["ConformanceRow"];
export type DependencyRow = Schemas["DependencyRow"];
export type FindingRow = Schemas["FindingRow"];
export type LimitRow = Schemas["LimitRow"];
export type LocalRow = Schemas["LocalRow"];
export type OrphanRow = Schemas["OrphanRow"];
export type PhaseRow = Schemas["PhaseRow"];
export type PropagationRow = Schemas["PropagationRow"];
export type RetryRow = Schemas["RetryRow"];
export type StageRow = Schemas["StageRow"];

/** The reports that answer with a table of rows and take the usual parameters. */
export interface Reports {
  cancellations: CancellationRow;
  cells: CellRow;
  conformance: ConformanceRow;
  dependencies: DependencyRow;
  findings: FindingRow;
  limits: LimitRow;
  local: LocalRow;
  margin: MarginRow;
  orphans: OrphanRow;
  patience: PatienceRow;
  phases: PhaseRow;
  propagation: PropagationRow;
  reserves: ReserveRow;
  retries: RetryRow;
  spend: SpendRow;
  stages: StageRow;
}
export type ReportName = keyof Reports;

/** What a report can be narrowed to, as the API has it. */
export type ParameterOf<Name extends ReportName> = keyof NonNullable<paths[`/reports/${Name}`]["get"]["parameters"]["query"]>;

/** What every report answers with. */
export interface Answer<Row> {
  window: Schemas["Window"];
  watermark: string | null;
  provisional?: boolean;
  rows: Row[];
  next: string | null;
}
