-- Who spends the budget before calling anybody? One row per route, the largest share of the budget first.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  exact; '' means any
-- limit, skip     rows
-- Reads the months of the window; with a service, the prefix (service) of the sort key.
SELECT
    service,
    route,
    count() AS requests,
    quantileExact(0.5)(local_before_first_call_ns) AS before_first_call_p50,
    quantileExact(0.5)(if(budget_received_ns > 0, local_before_first_call_ns / budget_received_ns, NULL)) AS share_p50,
    quantileExact(0.5)(queue_time_ns) AS queue_p50
FROM hops FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND ({service:String} = '' OR service = {service:String})
    AND ({route:String} = '' OR route = {route:String})
GROUP BY service, route
HAVING count(local_before_first_call_ns) + count(queue_time_ns) > 0
ORDER BY ifNull(share_p50, -1) DESC, before_first_call_p50 DESC NULLS LAST, service, route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
