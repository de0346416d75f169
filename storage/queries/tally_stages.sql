-- report_stages.sql from rollups. cause is the only filter of hops that they know.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    startsWith(measure, 'call.') OR startsWith(measure, 'step.') AS ran,
    startsWith(measure, 'decision.') AS refused,
    substring(measure, position(measure, '.') + 1) AS name
SELECT
    service, route, stage, peer,
    toUInt64(round(sumIf(represented, ran OR refused))) AS calls,
    if(sumIf(seen, ran) = 0, NULL, middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), ran))) AS spend_p50,
    if(sumIf(seen, ran) = 0, NULL, middle(quantileExactWeightedArrayIf(0.95)(mapKeys(spread), mapValues(spread), ran))) AS spend_p95,
    toUInt64(round(sumIf(represented, refused))) AS degraded,
    sumIf(represented, refused) / sumIf(represented, ran OR refused) AS degraded_ratio,
    mapApply((k, v) -> (k, toUInt64(round(v))), sumMapIf(map(name, represented), (ran OR refused) AND name != '')) AS decisions,
    mapApply((k, v) -> (k, toUInt64(round(v))), sumMapIf(map(toString(detail), represented), (ran OR refused) AND detail != '')) AS causes,
    mapApply((k, v) -> (k, toUInt64(round(v))), sumMapIf(map(name, represented), startsWith(measure, 'phase.'))) AS phases
FROM
@tally(calls) AS t
WHERE (startsWith(measure, 'call.') OR startsWith(measure, 'step.') OR startsWith(measure, 'decision.') OR startsWith(measure, 'phase.'))
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
    AND ({stage:String} = '' OR stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, stage)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
    AND ({cause:String} = '' OR detail = {cause:String})
    AND NOT has({not_cause:Array(String)}, detail)
GROUP BY service, route, stage, peer
ORDER BY degraded_ratio DESC, spend_p95 DESC, service, route, stage, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
