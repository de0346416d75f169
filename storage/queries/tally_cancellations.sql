-- report_cancellations.sql from rollups.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    measure = 'patience' AS waited,
    measure IN ('budget', 'budget.ended') AS granted
SELECT
    service, route, detail,
    toUInt64(round(sumIf(represented, measure = 'request'))) AS sent,
    toUInt64(round(sumIf(represented, measure = 'confirmed'))) AS confirmed,
    if(sumIf(seen, waited) = 0, NULL, middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), waited))) AS patience_p50,
    if(sumIf(seen, waited) = 0, NULL, middle(quantileExactWeightedArrayIf(0.95)(mapKeys(spread), mapValues(spread), waited))) AS patience_p95,
    if(sumIf(seen, granted) = 0, NULL, middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), granted))) AS budget_p50
FROM
@tally(entries) AS t
WHERE detail != ''
    AND measure IN ('request', 'confirmed', 'patience', 'budget', 'budget.ended')
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
    AND ({cause:String} = '' OR detail = {cause:String})
    AND NOT has({not_cause:Array(String)}, detail)
GROUP BY service, route, detail
ORDER BY sent DESC, service, route, detail
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
