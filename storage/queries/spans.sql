-- The raw spans of some traces, by trace and time, each once: of several rows of one span the longest. Of many traces the lines
-- marked "in order" are left out: to sort rows so wide costs more than to read them.
-- database, table  of the raw spans
-- ids       32 hexadecimal digits each, lower case, one after the other
-- from, to  seconds since 1970, both inclusive: the times of the traces
-- limit     spans of each trace
-- The days of the traces, then the times within a name and the bloom filter on TraceId.
SELECT *
FROM
(
    SELECT
        TraceId,
        SpanId,
        ParentSpanId,
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
    WHERE TraceId IN (SELECT arrayJoin(extractAll({ids:String}, '.{32}')))
        AND Timestamp >= fromUnixTimestamp64Nano({from:Int64} * 1000000000)
        AND Timestamp < fromUnixTimestamp64Nano(({to:Int64} + 1) * 1000000000)
    ORDER BY TraceId, SpanId, ServiceName, SpanKind, lasts DESC -- in order
    LIMIT 1 BY TraceId, SpanId, ServiceName, SpanKind -- in order
)
ORDER BY TraceId, start, SpanId -- in order
LIMIT {limit:UInt32} BY TraceId
