-- What did each route have left on each day? One row per route and day, oldest first.
-- from, to        nanoseconds since 1970, whole days, from inclusive, to exclusive
-- service, route  exact; '' means any
-- limit           rows
-- The days of the rollup. answered counts the answers themselves, not what sampled ones stand for. The 5th percentile
-- lies at a part of the way through the bucket slot.
SELECT service, route, day, answered, with_budget, missed, slot, part
FROM
(
    SELECT
        service,
        route,
        toUnixTimestamp64Nano(at) AS day,
        sum(d.margins) AS answered,
        toUInt64(round(sum(d.with_budget))) AS with_budget,
        toUInt64(round(sum(d.late) + sum(d.exhausted))) AS missed,
        mapSort(sumMap(d.margin)) AS margin_map,
        mapKeys(margin_map) AS slots,
        arrayCumSum(mapValues(margin_map)) AS counts,
        0.05 * arraySum(mapValues(margin_map)) AS rank,
        arrayFirstIndex(c -> c > rank, counts) AS i,
        slots[i] AS slot,
        if(answered = 0, 0., (rank - if(i > 1, counts[i - 1], 0)) / mapValues(margin_map)[i]) AS part
    FROM rollup_1d AS d FINAL
    WHERE at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND ({service:String} = '' OR service = {service:String})
        AND ({route:String} = '' OR route = {route:String})
        AND scheme = 1
    GROUP BY service, route, at
    HAVING with_budget > 0
)
ORDER BY service, route, day
LIMIT {limit:UInt32}
