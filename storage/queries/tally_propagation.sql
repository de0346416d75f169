-- report_propagation.sql from rollups.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    measure IN ('renewed', 'dropped') AS grew
SELECT
    service AS caller_service,
    peer AS callee_service,
    toUInt64(round(sumIf(represented, measure = 'callee'))) AS calls,
    toUInt64(round(sumIf(represented, measure = 'budget'))) AS with_budget,
    toUInt64(round(sumIf(represented, measure = 'renewed'))) AS renewed,
    toUInt64(round(sumIf(represented, measure = 'dropped'))) AS dropped,
    if(countIf(grew) = 0, NULL, toInt64(maxIf(most, grew))) AS growth_max,
    if(sumIf(seen, measure = 'handed') = 0, NULL, middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'handed'))) AS handed_p50,
    if(sumIf(seen, measure = 'callee') = 0, NULL, middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'callee'))) AS used_p50
FROM
@tally(edges) AS t
WHERE measure NOT IN ('due', 'passed')
    AND ({either:String} = '' OR service = {either:String} OR peer = {either:String})
    AND NOT has({not_service:Array(String)}, peer)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
GROUP BY service, peer
ORDER BY renewed + dropped DESC, toInt64(calls) - toInt64(with_budget) DESC, caller_service, callee_service
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
