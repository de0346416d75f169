-- What report_dependencies.sql tells of one of its windows, from rollups. One row per caller, peer and stage.
WITH
    startsWith(measure, 'call.') AS call,
    call AND detail = '' AS uncut,
    mapKeys(spread) AS slots,
    mapValues(spread) AS counts
SELECT
    service, peer, stage, calls, all_seen, cuts, whole, allowed, lengths[1] AS allowance_p50, lengths[2] AS whole_p99, lengths[3] AS latency_p50, lengths[4] AS whole_p50,
    answered, lengths[5] AS between_p50, fresh, lengths[6] AS fresh_p50, lengths[7] AS fresh_p99, reused, lengths[8] AS reused_p50, lengths[9] AS reused_p99,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), longest)), 1, 3) AS shown, last_seen
FROM
(
    SELECT
        service, peer, stage,
        toUInt64(round(sumIf(represented, call))) AS calls,
        sumIf(seen, call) AS all_seen,
        toUInt64(round(sumIf(represented, call AND detail != ''))) AS cuts,
        sumIf(seen, uncut) AS whole,
        sumIf(seen, measure = 'allowance') AS allowed,
        sumIf(seen, measure = 'between') AS answered,
        toUInt64(round(sumIf(represented, measure = 'fresh'))) AS fresh,
        toUInt64(round(sumIf(represented, measure = 'reused'))) AS reused,
        quantileExactWeightedArrayIf(0.5)(slots, counts, measure = 'allowance') AS allowance,
        quantilesExactWeightedArrayIf(0.5, 0.99)(slots, counts, uncut) AS uncuts,
        quantileExactWeightedArrayIf(0.5)(slots, counts, call) AS latency,
        quantileExactWeightedArrayIf(0.5)(slots, counts, measure = 'between') AS between,
        quantilesExactWeightedArrayIf(0.5, 0.99)(slots, counts, measure = 'fresh') AS freshes,
        quantilesExactWeightedArrayIf(0.5, 0.99)(slots, counts, measure = 'reused') AS reuses,
        arrayMap(k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))),
            [allowance, uncuts[2], latency, uncuts[1], between, freshes[1], freshes[2], reuses[1], reuses[2]]) AS lengths,
        arrayPartialSort(24, arrayFlatten(groupArrayIf(examples, call))) AS longest,
        maxIf(last, call) AS last_seen
    FROM
@tally(calls) AS t
    WHERE (startsWith(measure, 'call.') OR measure IN ('allowance', 'between', 'fresh', 'reused'))
        AND ({stage:String} = '' OR stage = {stage:String})
        AND NOT has({not_stage:Array(String)}, stage)
        AND ({peer:String} = '' OR peer = {peer:String})
        AND NOT has({not_peer:Array(String)}, peer)
    GROUP BY service, peer, stage
    HAVING all_seen > 0
    LIMIT {limit:UInt32}
)
