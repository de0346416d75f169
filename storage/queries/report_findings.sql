-- Which findings were there? One row per rule and place: the gravest first, then the most frequent.
-- from, to                     nanoseconds since 1970, start of the span, from inclusive, to exclusive
-- rule, service, stage, peer,  exact; '' means any; route is the one of the trace's account
--   cause, route
-- limit, skip                  rows
-- The index on ts. A span has a finding once.
SELECT
    rule,
    any(v.severity) AS severity,
    service,
    stage,
    peer,
    toUInt64(round(sum(v.weight))) AS spans,
    toUInt64(round(sumIf(v.weight, leads))) AS traces,
    toInt64(round(sum(v.weight * ifNull(amount_ns, 0)))) AS amount,
    max(toUnixTimestamp64Nano(ts)) AS last_seen,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), groupArraySorted(12)((-ifNull(amount_ns, 0), trace_id)))), 1, 3) AS examples
FROM
(
    SELECT *, row_number() OVER (PARTITION BY trace_id, rule, service, stage, peer ORDER BY ts, span_id, kind) = 1 AS leads
    FROM verdicts FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND ({rule:String} = '' OR rule = {rule:String})
        AND NOT has({not_rule:Array(String)}, rule)
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND ({stage:String} = '' OR stage = {stage:String})
        AND NOT has({not_stage:Array(String)}, stage)
        AND ({peer:String} = '' OR peer = {peer:String})
        AND NOT has({not_peer:Array(String)}, peer)
        AND ({cause:String} = '' OR cause = {cause:String})
        AND NOT has({not_cause:Array(String)}, cause)
        AND ({route:String} = '' OR route = {route:String})
        AND NOT has({not_route:Array(String)}, route)
) AS v
GROUP BY rule, service, stage, peer
ORDER BY indexOf(['error', 'warn', 'info'], severity), traces DESC, amount DESC, rule, service, stage, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
