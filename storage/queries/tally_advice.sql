-- advice.sql from rollups. A call that was cut counts as four times as long: two octaves, 32 buckets.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    (startsWith(measure, 'call.') OR startsWith(measure, 'step.')) AS ran,
    ran AND detail != '' AS cut,
    arrayMap(k -> k + if(cut, 32, 0), mapKeys(spread)) AS slots
SELECT
    service, stage, peer,
    toUInt64(round(sumIf(represented, ran))) AS calls,
    sumIf(seen, ran) AS all_seen,
    sumIf(seen, cut) AS cuts,
    middle(quantileExactWeightedArrayIf(0.5)(slots, mapValues(spread), ran)) AS p50,
    middle(quantileExactWeightedArrayIf(1 - {rate:Float64})(slots, mapValues(spread), ran)) AS tail,
    toInt64(maxIf(most * if(cut, 4, 1), ran)) AS longest,
    sumIf(seen, measure = 'followed') AS measured,
    middle(quantileExactWeightedArrayIf(0.99)(mapKeys(spread), mapValues(spread), measure = 'followed')) AS needed_p99,
    sumIf(seen, measure = 'cap') AS capped,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'cap')) AS cap_p50,
    sumIf(seen, measure = 'observed') AS limited,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'observed')) AS observed_p50,
    sumIf(seen, measure = 'reserve') AS reserved,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'reserve')) AS reserve_p50,
    sumIf(seen, measure = 'useful') AS floored,
    middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'useful')) AS min_useful_p50
FROM
@tally(calls) AS t
WHERE detail IN ('', 'local_deadline', 'upstream_deadline', 'expiry', 'stream_idle')
    AND ({stage:String} = '' OR stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, stage)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
    AND (startsWith(measure, 'call.') OR startsWith(measure, 'step.') OR measure IN ('followed', 'cap', 'observed', 'reserve', 'useful'))
GROUP BY service, stage, peer
HAVING all_seen > 0
ORDER BY all_seen DESC, service, stage, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
