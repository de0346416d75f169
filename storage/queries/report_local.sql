-- Who spends the budget before calling anybody? One row per route, the largest share of the budget first.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  exact; '' means any
-- environment, version, outcome, late, margin_lt, margin_gt  of the entry, exact or exclusive nanoseconds; '' and NULL mean any
-- limit, skip     rows
-- Reads the months of the window; with a service, the prefix (service) of the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits,
    toUInt64(greatest(round(weight * 16), 1)) AS times
SELECT
    service,
    route,
    toUInt64(round(sum(weight))) AS requests,
    quantileExactWeighted(0.5)(digits(local_before_first_call_ns), times) AS before_first_call_p50,
    quantileExactWeighted(0.5)(if(budget_received_ns > 0, round(local_before_first_call_ns / budget_received_ns, 4), NULL), times) AS share_p50,
    quantileExactWeighted(0.5)(digits(queue_time_ns), times) AS queue_p50
FROM hops FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND ({service:String} = '' OR service = {service:String})
    AND NOT has({not_service:Array(String)}, service)
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({version:String} = '' OR service_version = {version:String})
    AND ({outcome:String} = '' OR outcome = {outcome:String})
    AND (isNull({late:Nullable(Bool)}) OR ifNull(late, false) = {late:Nullable(Bool)})
    AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
    AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
GROUP BY service, route
HAVING count(local_before_first_call_ns) + count(queue_time_ns) > 0
ORDER BY ifNull(share_p50, -1) DESC, before_first_call_p50 DESC NULLS LAST, service, route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
