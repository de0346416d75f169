-- The spans of some 10 seconds of an attached table, as they are.
-- database, table  the attached table
-- from, to         seconds since 1970 that enclose them, from inclusive, to exclusive
-- buckets          their starts, seconds since 1970
-- The days of the table.
SELECT
    lower(TraceId) AS trace,
    lower(SpanId) AS span,
    lower(ParentSpanId) AS parent,
    TraceState,
    ServiceName,
    SpanName,
    ScopeName,
    SpanKind,
    StatusCode,
    StatusMessage,
    toUnixTimestamp64Nano(Timestamp) AS start,
    toUInt64(Duration) AS lasts,
    SpanAttributes,
    ResourceAttributes,
    arrayMap(t -> toUnixTimestamp64Nano(t), Events.Timestamp) AS event_times,
    Events.Name,
    Events.Attributes,
    Links.TraceId,
    Links.SpanId,
    Links.Attributes
FROM {database:Identifier}.{table:Identifier}
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64} * 1000000000)
    AND Timestamp < fromUnixTimestamp64Nano({to:Int64} * 1000000000)
    AND toInt64(intDiv(toUnixTimestamp64Nano(Timestamp), 10000000000)) * 10 IN {buckets:Array(Int64)}
