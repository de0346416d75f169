-- When did these traces begin and end? One row; traces is 0 where the times are not kept.
-- ids  hexadecimal digits, lower case
-- The prefix (TraceId) of the sort key.
SELECT
    uniqExact(TraceId) AS traces,
    toUnixTimestamp(min(Start)) AS first,
    toUnixTimestamp(max(End)) AS last
FROM otel_traces_trace_id_ts
WHERE TraceId IN ({ids:Array(String)})
