-- Of which traces did raw spans arrive? One row per trace, by the start of the earliest of these spans.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive; arrivals are kept by the second
-- limit     rows
-- The index on IngestedAt. Spans that are no hops, and hops that arrived earlier than their raw spans, are found here only.
SELECT
    lower(TraceId) AS trace,
    count() AS spans
FROM otel_traces
WHERE IngestedAt >= toDateTime(intDiv({from:Int64}, 1000), 'UTC')
    AND IngestedAt <= toDateTime(intDiv({to:Int64}, 1000), 'UTC')
    AND length(TraceId) = 32
GROUP BY trace
ORDER BY min(Timestamp), trace
LIMIT {limit:UInt32}
