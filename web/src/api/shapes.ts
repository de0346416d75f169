// The shapes of the API under the names the pages use.
import type { components } from "./schema.gen.ts";

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
