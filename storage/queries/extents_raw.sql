-- Notes when raw spans start that were stored before extents were kept. Their times are kept in whole seconds, in a row per trace and insert.
-- from, to  nanoseconds since 1970, of their start, from inclusive, to exclusive
INSERT INTO trace_extents (trace, first_ns, last_ns)
SELECT reinterpretAsUInt64(unhex(substring(TraceId, 17))), toInt64(toUnixTimestamp(Start)) * 1000000000, toInt64(toUnixTimestamp(End) + 1) * 1000000000
FROM otel_traces_trace_id_ts
WHERE Start >= toDateTime(intDiv({from:Int64}, 1000000000))
    AND Start < toDateTime(intDiv({to:Int64}, 1000000000))
    AND length(TraceId) = 32
SETTINGS max_rows_to_read = 0
