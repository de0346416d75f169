-- What budget would each route need? One row per route, the busiest first.
-- from, to                    nanoseconds since 1970, from inclusive, to exclusive
-- service, route, environment  exact; '' means any
-- rate                        accepted share of requests that run out of it, between 0 and 1
-- limit, skip                 rows
-- Answered and exhausted requests; one that was exhausted would have needed more than it took, so it counts as longer than any.
-- Reads the months of the window; with a service, the prefix (service) of the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits,
    toUInt64(greatest(round(weight * 16), 1)) AS times
SELECT
    service,
    route,
    count() AS seen,
    toUInt64(round(sum(weight))) AS requests,
    toUInt64(round(sumIf(weight, exhausted))) AS ended,
    countIf(exhausted) AS ended_seen,
    countIf(isNotNull(budget_received_ns)) AS budgets,
    quantileExactWeightedIf(0.5)(ifNull(digits(budget_received_ns), 0), times, isNotNull(budget_received_ns)) AS budget_p50,
    quantileExactWeighted(0.5)(if(exhausted, 9223372036854775807, digits(spent)), times) AS spent_p50,
    quantileExactWeighted(1 - {rate:Float64})(if(exhausted, 9223372036854775807, digits(spent)), times) AS safe
FROM
(
    SELECT service, route, weight, answered, exhausted, budget_received_ns,
        if(isNotNull(budget_received_ns) AND isNotNull(margin_ns), budget_received_ns - margin_ns, duration_ns) AS spent
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND entry
        AND (answered OR exhausted)
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND ({route:String} = '' OR route = {route:String})
        AND NOT has({not_route:Array(String)}, route)
        AND ({environment:String} = '' OR environment = {environment:String})
)
GROUP BY service, route
ORDER BY seen DESC, service, route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
