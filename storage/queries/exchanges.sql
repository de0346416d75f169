-- What do calls tell about the clocks of two machines? One row per stretch of time, caller and callee: of its calls a hash, when they were
-- made, and the least and the greatest offset of the callee's clock that each allows, in nanoseconds.
-- from, to   nanoseconds since 1970, of the call, from inclusive, to exclusive
-- stretches  their begins, nanoseconds since 1970
-- width      of a stretch, nanoseconds
-- least      nanoseconds: pairs of which no call shows that much are left out
-- fewest     calls of a pair in a stretch, or it is left out
-- calls      of a pair in a stretch, at most, by hash
-- parts      in how many parts of the traces calls are looked at, part is the one that this is about
-- limit      rows
-- Left out are calls that were cut, also at a limit that nobody recorded, and callees that do not fit. Machines are named as
-- verdict.MachineOf does. Reads the months of the range; what is held in memory is of the traces of the part that have such calls.
WITH
    multiIf(host != '', concat('host ', host), instance != '', concat('instance ', instance, ' of ', service), concat('service ', service)) AS machine,
    arraySlice(arraySort(groupArray((callee.id, toUnixTimestamp64Nano(call.ts), callee.callee_end - call.call_end,
        toUnixTimestamp64Nano(callee.ts) - toUnixTimestamp64Nano(call.ts)))), 1, {calls:UInt32}) AS found
SELECT
    call.stretch AS at,
    call.caller AS caller,
    callee.callee AS callee,
    arrayMap(e -> e.1, found) AS ids,
    arrayMap(e -> e.2, found) AS made,
    arrayMap(e -> e.3, found) AS lows,
    arrayMap(e -> e.4, found) AS highs
FROM
(
    SELECT cityHash64(trace_id, span_id) AS id, service, peer, if(stage = '', name, stage) AS place, machine AS caller, ts, duration_ns,
        toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} AS stretch, toUnixTimestamp64Nano(ts) + duration_ns AS call_end
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND kind = 'Client'
        AND stretch IN {stretches:Array(Int64)}
        AND cityHash64(trace_id) % {parts:UInt64} = {part:UInt64}
        AND cancel_cause = ''
        AND timeout_phase = ''
) AS call
LEFT ANY JOIN (SELECT caller, address, operation, from_ns FROM limits FINAL) AS cut
    ON cut.caller = call.service AND cut.address = call.peer AND cut.operation = call.place
INNER JOIN
(
    SELECT cityHash64(trace_id, parent_span_id) AS id, machine AS callee, ts, duration_ns, toUnixTimestamp64Nano(ts) + duration_ns AS callee_end
    FROM hops FINAL
    PREWHERE cityHash64(trace_id) IN (
        SELECT cityHash64(trace_id)
        FROM hops
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND kind = 'Client'
            AND toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} IN {stretches:Array(Int64)}
            AND cityHash64(trace_id) % {parts:UInt64} = {part:UInt64}
    )
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
        AND kind = 'Server'
        AND cancel_cause NOT IN ('client_disconnect', 'upstream_cancel', 'upstream_deadline')
) AS callee ON callee.id = call.id
WHERE call.caller != callee.callee AND callee.duration_ns <= call.duration_ns
    AND (cut.from_ns = 0 OR call.duration_ns < cut.from_ns)
GROUP BY at, caller, callee
HAVING count() >= {fewest:UInt64} AND (max(callee_end - call_end) > {least:Int64} OR min(toUnixTimestamp64Nano(callee.ts) - toUnixTimestamp64Nano(call.ts)) < -{least:Int64})
ORDER BY at, caller, callee
LIMIT {limit:UInt32}
