-- Does the budget arrive? One row per caller and callee, the most renewed and dropped first.
-- from, to     nanoseconds since 1970, start of the callee's span, from inclusive, to exclusive
-- service      of the caller or the callee, exact; '' means any
-- peer         of the callee, exact; '' means any
-- environment  of the callee, exact; '' means any
-- limit, skip  rows
-- A callee whose budget is more than 1 ms above what its caller had left renewed the clock; if its budget is its own default,
-- the header was dropped. Reads the months of the window.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits,
    callee.received - caller.remaining AS growth,
    growth > 1000000 AND callee.source != 'regrant' AS grew
SELECT
    caller.service AS caller_service,
    callee.service AS callee_service,
    toUInt64(round(sum(callee.weight))) AS calls,
    toUInt64(round(sumIf(callee.weight, isNotNull(callee.received)))) AS with_budget,
    toUInt64(round(sumIf(callee.weight, ifNull(grew, false) AND callee.source != 'default'))) AS renewed,
    toUInt64(round(sumIf(callee.weight, ifNull(grew, false) AND callee.source = 'default'))) AS dropped,
    max(if(grew, growth, NULL)) AS growth_max,
    quantileExactWeighted(0.5)(digits(caller.handed), callee.times) AS handed_p50,
    toNullable(quantileExactWeighted(0.5)(digits(callee.duration_ns), callee.times)) AS used_p50
FROM
(
    SELECT service, cityHash64(trace_id, parent_span_id) AS call, budget_received_ns AS received, budget_source AS source, duration_ns, weight,
        toUInt64(greatest(round(weight * 16), 1)) AS times
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND kind IN ('Server', 'Consumer')
        AND ({environment:String} = '' OR environment = {environment:String})
) AS callee
INNER JOIN
(
    SELECT service, cityHash64(trace_id, span_id) AS call, remaining_before_ns AS remaining, ifNull(allowance_ns, remaining_before_ns) AS handed
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
        AND kind IN ('Client', 'Producer')
) AS caller ON caller.call = callee.call
WHERE ({service:String} = '' OR caller.service = {service:String} OR callee.service = {service:String})
    AND NOT has({not_service:Array(String)}, caller.service)
    AND NOT has({not_service:Array(String)}, callee.service)
    AND ({peer:String} = '' OR callee.service = {peer:String})
    AND NOT has({not_peer:Array(String)}, callee.service)
GROUP BY caller_service, callee_service
ORDER BY renewed + dropped DESC, toInt64(calls) - toInt64(with_budget) DESC, caller_service, callee_service
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
