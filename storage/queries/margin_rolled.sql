-- How much of its budget did each route have left, from rollups as far as they reach? With a bucket of 0 one row per route in the
-- order of margin.sql; else one row per route and bucket, oldest first.
-- minute_0, minute_1         what is taken from minutes or longer buckets, nanoseconds since 1970, from inclusive, to exclusive
-- edge_0 to edge_3           what is read from hops before and after it
-- hour_0, hour_1             of that, what is taken from hours or days
-- day_0, day_1               of that, what is taken from days
-- dirty_minutes, _hours,     starts of buckets that are read from what they are made of instead
--   _days
-- dirty_0, dirty_1           enclose the dirty minutes within the window, dirty_hour_0 and so on the hours and days
-- bucket                     width in nanoseconds, or 0
-- service, route             exact; '' means any
-- keys                       cityHash64(service, route) of the routes wanted; empty means all
-- limit, skip                rows
-- With a service, the prefix (service, route) of the sort keys; else the months of the window. A percentile is the middle, in
-- logarithms, of the bucket that holds it: at most 2.2 % off.
WITH
    n -> toInt16(if(n = 0, 0, sign(n) * (1 + floor(16 * log2(abs(n)))))) AS slot,
    k -> if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16)) AS middle,
    m -> arrayMap(n -> toUInt64(greatest(round(n * 16), 1)), mapValues(m)) AS times
SELECT service, route, key, at, requests, seen, with_budget, answers, late_answers, ended, margins, margin, used_p50, usable_margins, budget_p50, budgets
FROM
(
    SELECT
        service,
        route,
        cityHash64(service, route) AS key,
        if({bucket:Int64} = 0, 0, start - start % {bucket:Int64}) AS at,
        toUInt64(round(sum(r.represented))) AS requests,
        sum(r.requests) AS seen,
        toUInt64(round(sum(r.with_budget))) AS with_budget,
        toUInt64(round(sum(r.answered))) AS answers,
        toUInt64(round(sum(r.late))) AS late_answers,
        toUInt64(round(sum(r.exhausted))) AS ended,
        sum(r.margins) AS margins,
        if(margins = 0, [0, 0, 0], arrayMap(k -> toInt64(middle(k)), quantilesExactWeightedArray(0.05, 0.5, 0.95)(mapKeys(r.margin), times(r.margin)))) AS margin,
        toUInt64(ceil(sum(arraySum(mapValues(r.used))))) AS usable_margins,
        if(usable_margins = 0, 0., middle(quantileExactWeightedArray(0.5)(mapKeys(r.used), times(r.used))) / 1e9) AS used_p50,
        if(budgets = 0, 0, toInt64(middle(quantileExactWeightedArray(0.5)(mapKeys(r.budget), times(r.budget))))) AS budget_p50,
        sum(r.budgets) AS budgets
    FROM
    (
@rows
    ) AS r
    WHERE (empty({keys:Array(UInt64)}) OR cityHash64(service, route) IN {keys:Array(UInt64)})
    GROUP BY service, route, at
)
ORDER BY
    if({bucket:Int64} = 0, 0, key),
    at,
    multiIf(margins > 0, 1, ended > 0, 0, 2),
    margin[1],
    service,
    route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
