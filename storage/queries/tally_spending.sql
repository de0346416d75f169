-- What report_comparison.sql and report_attribution.sql tell of one of their windows, from rollups. One row per route and kind of
-- traffic with the sums of answers with a budget by place, which is kind, stage and peer with char(0) between them; the row without a
-- kind of traffic, with four fields, tells of the route as a whole.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    measure = 'margin' AS measured
SELECT
    service, route, traffic,
    toUInt64(round(sumIf(represented, measure = 'asked'))) AS with_budget,
    sumIf(seen, measured) AS all_seen,
    toUInt64(round(sumIf(represented, measure = 'missed'))) AS missed,
    middle(quantileExactWeightedArrayIf(0.05)(mapKeys(spread), mapValues(spread), measured)) AS p05,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measured)) AS p50,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'asked')) AS budget_p50,
    sumIf(represented, measured) AS requests,
    sumIf(total, measured) AS margin,
    sumIf(total, measure = 'granted') AS budget,
    sumIf(total, measure = 'square') AS squares,
    sumMapIf(map(concat(substring(measure, 7), char(0), stage, char(0), peer), total), startsWith(measure, 'spent.')) AS spent
FROM
@tally(spending) AS t
ARRAY JOIN ['*', toString(detail)] AS traffic
WHERE ({route:String} = '' OR route = {route:String})
    AND NOT startsWith(measure, 'calls.') AND NOT startsWith(measure, 'degraded.')
    AND (traffic != '*' OR NOT startsWith(measure, 'spent.'))
GROUP BY service, route, traffic
ORDER BY service, route, traffic
LIMIT {limit:UInt32}
