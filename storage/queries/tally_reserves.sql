-- report_reserves.sql from rollups. Examples are of eaten reserves first, else of the longest calls.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    measure IN ('allowance', 'allowance.step') AS started
SELECT
    c.service AS service, c.route AS route, c.stage AS stage, c.peer AS peer,
    toUInt64(round(any(c.granted))) AS calls,
    any(c.reserves) AS reserved,
    any(c.reserve_middle) AS reserve_p50,
    any(c.follows) AS measured,
    any(c.p50) AS needed_p50,
    any(c.p99) AS needed_p99,
    toUInt64(round(any(c.ate))) AS eaten,
    toUInt64(round(any(c.with_reserve))) AS with_reserve,
    toUInt64(round(if(any(usual.n) >= 20, sum(arraySum((k, n) -> n * multiIf(k < usual.slot, 1, k = usual.slot, 0.5, 0), c.slots, c.counts)) / 16, 0))) AS hopeless_starts,
    toUInt64(round(if(any(usual.n) >= 20, any(c.starts), 0))) AS judged_starts,
    any(c.traces) AS shown
FROM
(
    SELECT
        service, route, stage, peer,
        sumIf(represented, startsWith(measure, 'allowance')) AS granted,
        sumIf(represented, started) AS starts,
        sumIf(seen, measure = 'reserve') AS reserves,
        sumIf(represented, measure = 'reserve') AS with_reserve,
        middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'reserve')) AS reserve_middle,
        sumIf(seen, measure = 'followed') AS follows,
        middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), measure = 'followed')) AS p50,
        middle(quantileExactWeightedArrayIf(0.99)(mapKeys(spread), mapValues(spread), measure = 'followed')) AS p99,
        sumIf(represented, measure = 'eaten') AS ate,
        sumMapIf(spread, started) AS allowances,
        mapKeys(allowances) AS slots,
        mapValues(allowances) AS counts,
        arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.3)), arrayPartialSort(24, arrayFlatten(groupArray(arrayMap(x -> (measure != 'eaten', x.1, x.2), examples)))))), 1, 3) AS traces
    FROM
@tally(calls) AS t
    WHERE ({route:String} = '' OR route = {route:String})
        AND NOT has({not_route:Array(String)}, route)
        AND ({stage:String} = '' OR stage = {stage:String})
        AND NOT has({not_stage:Array(String)}, stage)
        AND ({peer:String} = '' OR peer = {peer:String})
        AND NOT has({not_peer:Array(String)}, peer)
        AND (startsWith(measure, 'allowance') OR startsWith(measure, 'call.') OR measure IN ('reserve', 'followed', 'eaten'))
    GROUP BY service, route, stage, peer
    HAVING granted > 0
) AS c
LEFT JOIN
(
    SELECT service, stage, peer, sum(seen) AS n, quantileExactWeightedArray(0.5)(mapKeys(spread), mapValues(spread)) AS slot
    FROM
@tally(calls) AS t
    WHERE (startsWith(measure, 'call.') OR startsWith(measure, 'step.')) AND detail = ''
    GROUP BY service, stage, peer
) AS usual ON usual.service = c.service AND usual.stage = c.stage AND usual.peer = c.peer
GROUP BY service, route, stage, peer
ORDER BY eaten / greatest(with_reserve, 1) DESC, hopeless_starts / greatest(judged_starts, 1) DESC, calls DESC, service, route, stage, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
