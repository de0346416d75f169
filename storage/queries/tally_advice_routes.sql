-- advice_routes.sql from rollups. A request that was exhausted lies in a bucket of its own beyond all others.
WITH
    k -> if(k = 32767, 9223372036854775807, toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16)))) AS middle,
    measure = 'exhausted' AS out,
    out OR measure = 'spent' AS ended,
    if(out, [toInt16(32767)], mapKeys(spread)) AS slots,
    if(out, [toUInt64(greatest(round(represented * 16), 1))], mapValues(spread)) AS counts
SELECT
    service, route,
    sumIf(seen, ended) AS all_seen,
    toUInt64(round(sumIf(represented, ended))) AS requests,
    toUInt64(round(sumIf(represented, out))) AS exhausted,
    sumIf(seen, out) AS exhausted_seen,
    sumIf(seen, measure = 'budget.ended') AS budgets,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'budget.ended')) AS budget_p50,
    middle(quantileExactWeightedArrayIf(0.5)(slots, counts, ended)) AS spent_p50,
    middle(quantileExactWeightedArrayIf(1 - {rate:Float64})(slots, counts, ended)) AS safe
FROM
@tally(entries) AS t
WHERE measure IN ('spent', 'exhausted', 'budget.ended')
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
GROUP BY service, route
HAVING all_seen > 0
ORDER BY all_seen DESC, service, route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
