-- Which traces have calls, made in some stretches of time, that were cut or failed, so that work after them is judged by two
-- clocks? One row per trace.
-- from, to   nanoseconds since 1970, of the call, from inclusive, to exclusive
-- stretches  their begins, nanoseconds since 1970
-- width      of a stretch, nanoseconds
-- limit      rows, the newest
-- Reads the months of the range.
SELECT lower(hex(trace_id)) AS trace, toUInt64(count()) AS hops
FROM hops
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND kind = 'Client'
    AND is_deleted = 0
    AND toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} IN {stretches:Array(Int64)}
    AND (cancel_cause != '' OR timeout_phase != '' OR (service, peer, if(stage = '', name, stage)) IN (SELECT caller, address, operation FROM limits FINAL))
GROUP BY trace_id
ORDER BY max(ts) DESC, trace
LIMIT {limit:UInt32}
