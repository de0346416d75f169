-- What report_dependencies.sql tells of one of its windows, from rollups. One row per caller, peer and stage.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    startsWith(measure, 'call.') AS call
SELECT
    service, peer, stage,
    toUInt64(round(sumIf(represented, call))) AS calls,
    sumIf(seen, call) AS all_seen,
    toUInt64(round(sumIf(represented, call AND detail != ''))) AS cuts,
    sumIf(seen, call AND detail = '') AS whole,
    sumIf(seen, measure = 'allowance') AS allowed,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'allowance')) AS allowance_p50,
    middle(quantileExactWeightedArrayIf(0.99)(mapKeys(spread), mapValues(spread), call AND detail = '')) AS whole_p99,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), call)) AS latency_p50,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), call AND detail = '')) AS whole_p50,
    sumIf(seen, measure = 'between') AS answered,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'between')) AS between_p50,
    toUInt64(round(sumIf(represented, measure = 'fresh'))) AS fresh,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'fresh')) AS fresh_p50,
    middle(quantileExactWeightedArrayIf(0.99)(mapKeys(spread), mapValues(spread), measure = 'fresh')) AS fresh_p99,
    toUInt64(round(sumIf(represented, measure = 'reused'))) AS reused,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'reused')) AS reused_p50,
    middle(quantileExactWeightedArrayIf(0.99)(mapKeys(spread), mapValues(spread), measure = 'reused')) AS reused_p99,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), arraySort(arrayFlatten(groupArrayIf(examples, call))))), 1, 3) AS shown,
    maxIf(last, call) AS last_seen
FROM
@tally(calls) AS t
WHERE (startsWith(measure, 'call.') OR measure IN ('allowance', 'between', 'fresh', 'reused'))
    AND ({stage:String} = '' OR stage = {stage:String})
    AND ({peer:String} = '' OR peer = {peer:String})
GROUP BY service, peer, stage
HAVING all_seen > 0
LIMIT {limit:UInt32}
