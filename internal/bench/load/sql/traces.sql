-- The traces of some days, one row each: a request enters a front service, retrieves, generates by calling a backend, and answers.
-- Everything follows from hashes of the trace's number.
-- from             begin of the first day of all, nanoseconds since 1970
-- first, traces    number of the first trace, and how many there are
-- per_day          traces of one day
-- routes, fronts   routes of the front services together, and those services
-- backs            backend services, with four routes each
-- change           the day from which the step, the mix and the budget are different
-- shrink           what retrieving takes more each day on the routes 0, 1 and 2, nanoseconds
-- step             the same from the day of change on, on route 3
-- share, share_2   of large requests, and on route 4 from the day of change on
-- cut              what the budget of route 5 loses on the day of change, nanoseconds
-- noise            half the width of what moves route 6 from day to day, nanoseconds
-- season           what retrieving takes more on Mondays and Tuesdays on route 7, nanoseconds
SELECT
    *,
    own_1 + retrieve + own_2 AS generate_at,
    intDiv(back_length, 100) AS network,
    generate + 2 * network AS call,
    if(left_early, intDiv(call, 2), call) AS waited,
    if(left_early, generate_at + waited, generate_at + call + own_3) AS wanted,
    if(NOT left_early AND wanted > budget AND cityHash64(n, 'ends') % 2 = 0, budget, wanted) AS length,
    NOT left_early AND wanted > budget AND length = budget AS ended,
    NOT left_early AND NOT ended AS done,
    budget - length AS margin,
    least(budget - own_1 - 50000000, budget) AS retrieve_allowance,
    budget - own_1 AS retrieve_before,
    budget - own_1 - retrieve AS retrieve_after,
    budget - generate_at AS generate_before,
    budget - generate_at - waited AS generate_after,
    intDiv(base * 45, 100) AS cap,
    reinterpretAsFixedString(cityHash64(n, 'trace')) AS id_1,
    reinterpretAsFixedString(cityHash64(n, 'id')) AS id_2
FROM
(
    SELECT
        number + {first:UInt64} AS n,
        toInt64(intDiv(n, {per_day:UInt64})) AS day,
        n % {routes:UInt64} AS r,
        concat('front-', leftPad(toString(r % {fronts:UInt64}), 2, '0')) AS front,
        concat('/route-', leftPad(toString(r), 3, '0')) AS route,
        concat('back-', leftPad(toString(r % {backs:UInt64}), 2, '0')) AS back,
        concat('/model-', toString(intDiv(r, {backs:UInt64}) % 4)) AS back_route,
        {from:Int64} + day * 86400000000000 + toInt64(cityHash64(n, 'time') % 86390000000000) AS ts,
        if(r < 8, 2000000000, 1500000000 + 500000000 * toInt64(r % 4)) AS base,
        base - if(r = 5 AND day >= {change:Int64}, {cut:Int64}, 0) AS budget,
        (cityHash64(n, 'size') % 1000000) / 1000000 < if(r = 4 AND day >= {change:Int64}, {share_2:Float64}, {share:Float64}) AS large,
        toInt64(base * 0.02 * (0.5 + (cityHash64(n, 'own_1') % 1000000) / 1000000)) AS own_1,
        toInt64(base * 0.12 * (0.8 + 0.4 * (cityHash64(n, 'retrieve') % 1000000) / 1000000))
            + multiIf(
                r < 3, arrayElement({shrink:Array(Int64)}, r + 1) * day,
                r = 3 AND day >= {change:Int64}, {step:Int64},
                r = 6, toInt64({noise:Int64} * ((cityHash64(day, 'noise') % 1000001) / 500000 - 1)) + {noise:Int64},
                r = 7 AND toDayOfWeek(fromUnixTimestamp64Nano({from:Int64} + day * 86400000000000, 'UTC')) < 3, {season:Int64},
                0) AS retrieve,
        toInt64(base * 0.02 * (0.5 + (cityHash64(n, 'own_2') % 1000000) / 1000000)) + if(large, intDiv(base, 10), 0) AS own_2,
        intDiv(base * 30, 100) AS back_length,
        toInt64(back_length * (0.85 + 0.3 * (cityHash64(n, 'generate') % 1000000) / 1000000)) AS generate,
        toInt64(base * 0.01 * (0.5 + (cityHash64(n, 'own_3') % 1000000) / 1000000))
            + if(cityHash64(n, 'stall') % 200 = 0, intDiv(base * 8, 10), 0) AS own_3,
        cityHash64(n, 'leaves') % 100 = 0 AS left_early
    FROM numbers({traces:UInt64})
)
