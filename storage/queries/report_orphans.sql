-- Who works for nobody? One row per service, stage, peer and cause, the most orphan time first. Each service counts its own
-- time, also what is nested in another's.
-- from, to                     nanoseconds since 1970, start of the span, from inclusive, to exclusive
-- service, stage, peer, cause  exact; '' means any
-- limit, skip                  rows
-- Orphan work and hops still running are findings: the index on ts of verdicts. Work after a cancellation and its cost are
-- facts of hops; with a service, the prefix (service) of the sort key.
WITH busy AS
(
    SELECT service, sum(weight * duration_ns) AS time
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND entry
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
    GROUP BY service
)
SELECT
    found.service AS service,
    found.stage AS stage,
    found.peer AS peer,
    found.cause AS cause,
    toUInt64(round(sumIf(found.weight, found.what = 'orphan_work'))) AS spans,
    toInt64(round(sumIf(found.weight * found.amount, found.what = 'orphan_work'))) AS orphan,
    toInt64(round(sumIf(found.weight * found.amount, found.what = 'post_cancel'))) AS post_cancel,
    toUInt64(round(sumIf(found.weight, found.what = 'still_running'))) AS still_running,
    sumMap(found.costs) AS costs,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), groupArraySorted(12)((-found.amount, found.trace_id)))), 1, 3) AS examples,
    if(any(busy.time) > 0, orphan / any(busy.time), NULL) AS share_of_busy
FROM
(
    SELECT toString(rule) AS what, service, stage, peer, cause, ifNull(amount_ns, 0) AS amount, CAST(map(), 'Map(String, Float64)') AS costs, trace_id, weight
    FROM verdicts FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND rule IN ('orphan_work', 'still_running')
    UNION ALL
    SELECT
        'post_cancel' AS what, service, if(stage = '', name, stage) AS stage, if(entry, '', peer) AS peer, cancel_cause AS cause,
        ifNull(post_cancel_time_ns, 0) AS amount,
        if(isNull(post_cancel_cost), CAST(map(), 'Map(String, Float64)'), map(if(cost_unit = '', 'unit', toString(cost_unit)), weight * assumeNotNull(post_cancel_cost))) AS costs,
        trace_id,
        weight
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND (post_cancel_time_ns > 0 OR post_cancel_cost > 0)
) AS found
LEFT JOIN busy ON busy.service = found.service
WHERE ({service:String} = '' OR found.service = {service:String})
    AND NOT has({not_service:Array(String)}, found.service)
    AND ({stage:String} = '' OR found.stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, found.stage)
    AND ({peer:String} = '' OR found.peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, found.peer)
    AND ({cause:String} = '' OR found.cause = {cause:String})
    AND NOT has({not_cause:Array(String)}, found.cause)
GROUP BY service, stage, peer, cause
ORDER BY orphan DESC, post_cancel DESC, still_running DESC, service, stage, peer, cause
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
