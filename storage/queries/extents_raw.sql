-- Notes when raw spans start that arrived before extents were kept. Their times are kept in whole seconds, in a row per trace and insert.
INSERT INTO trace_extents (trace, first_ns, last_ns)
SELECT reinterpretAsUInt64(unhex(substring(TraceId, 17))), toInt64(toUnixTimestamp(Start)) * 1000000000, toInt64(toUnixTimestamp(End) + 1) * 1000000000
FROM otel_traces_trace_id_ts
WHERE length(TraceId) = 32
