-- Notes when hops, findings or accounts start that were stored before extents were kept, a row each: equal traces are merged in time.
-- table     hops, verdicts or accounts
-- from, to  nanoseconds since 1970, of their start, from inclusive, to exclusive
INSERT INTO trace_extents (trace, first_ns, last_ns, ingested_at)
SELECT reinterpretAsUInt64(substring(trace_id, 9)), toUnixTimestamp64Nano(ts), toUnixTimestamp64Nano(ts), toDateTime(ingested_at)
FROM {table:Identifier}
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
SETTINGS max_rows_to_read = 0
