-- What did the stages of one route do, of all that they can promise? One row per stage and peer, and one with an empty peer per
-- stage for all of them.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  exact
-- environment     of the entry, exact; '' means any
-- limit           rows
-- A hop belongs to the route of the first entry of its trace in its service. Spend, reserve and allowance cover hops that ran. The
-- prefix (service) of the sort key.
WITH
    decision IN ('', 'run') AS ran,
    toUInt64(greatest(round(weight * 16), 1)) AS times
SELECT
    if(stage = '', name, stage) AS place,
    arrayJoin(arrayDistinct(['', peer])) AS towards,
    count() AS calls,
    countIf(ran) AS runs,
    quantileExactWeightedIf(0.95)(duration_ns, times, ran) AS spend_p95,
    countIf(ran AND isNotNull(reserve_ns)) AS reserves,
    minIf(ifNull(reserve_ns, 0), ran AND isNotNull(reserve_ns)) AS reserve_least,
    countIf(ran AND isNotNull(allowance_ns)) AS allowances,
    minIf(ifNull(allowance_ns, 0), ran AND isNotNull(allowance_ns)) AS allowance_least,
    sumIf(weight, NOT ran) / sum(weight) AS degraded_ratio,
    toUInt64(max(greatest(ifNull(attempt, 1), ifNull(attempts_total, 1), 1)) - 1) AS retries
FROM hops AS h FINAL
WHERE service = {service:String}
    AND ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
    AND NOT entry
    AND (kind IN ('Client', 'Producer') OR stage != '')
    AND trace_id IN
    (
        SELECT trace_id
        FROM hops
        WHERE service = {service:String}
            AND ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND entry
            AND is_deleted = 0
            AND ({environment:String} = '' OR environment = {environment:String})
        GROUP BY trace_id
        HAVING argMin(route, ts) = {route:String}
    )
GROUP BY place, towards
ORDER BY place, towards
LIMIT {limit:UInt32}
