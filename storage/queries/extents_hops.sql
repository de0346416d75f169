-- Notes when hops start that arrived before extents were kept, a row per hop: equal traces are merged in time.
-- from, to  nanoseconds since 1970, of the hop, from inclusive, to exclusive
INSERT INTO trace_extents (trace, first_ns, last_ns, ingested_at)
SELECT reinterpretAsUInt64(substring(trace_id, 9)), toUnixTimestamp64Nano(ts), toUnixTimestamp64Nano(ts), toDateTime(ingested_at)
FROM hops
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
