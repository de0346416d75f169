-- report_local.sql from rollups.
WITH k -> if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16)) AS middle
SELECT
    service, route,
    toUInt64(round(sumIf(represented, measure = 'request'))) AS requests,
    if(sumIf(seen, measure = 'local') = 0, NULL, toInt64(middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'local')))) AS before_first_call_p50,
    if(sumIf(seen, measure = 'share') = 0, NULL, middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'share')) / 1e9) AS share_p50,
    if(sumIf(seen, measure = 'queue') = 0, NULL, toInt64(middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'queue')))) AS queue_p50
FROM
@tally(entries) AS t
WHERE measure IN ('request', 'local', 'share', 'queue')
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
GROUP BY service, route
HAVING sumIf(seen, measure IN ('local', 'queue')) > 0
ORDER BY ifNull(share_p50, -1) DESC, before_first_call_p50 DESC NULLS LAST, service, route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
