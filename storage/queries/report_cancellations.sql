-- Why were requests cancelled? One row per route and cause, the most frequent first.
-- from, to               nanoseconds since 1970, from inclusive, to exclusive
-- service, route, cause  exact; '' means any
-- limit, skip            rows
-- Patience is how long a client waited before it left: the time of the signal, else the length of the span. Reads the months
-- of the window; with a service, the prefix (service) of the sort key.
WITH
    if(cancel_cause IN ('client_disconnect', 'upstream_cancel'), ifNull(cancel_after_ns, duration_ns), NULL) AS waited
SELECT
    service,
    route,
    cancel_cause,
    count() AS sent,
    countIf(ifNull(cancel_confirmed, false)) AS confirmed,
    quantileExact(0.5)(waited) AS patience_p50,
    quantileExact(0.95)(waited) AS patience_p95,
    quantileExact(0.5)(budget_received_ns) AS budget_p50
FROM hops FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND cancel_cause != ''
    AND ({service:String} = '' OR service = {service:String})
    AND ({route:String} = '' OR route = {route:String})
    AND ({cause:String} = '' OR cancel_cause = {cause:String})
GROUP BY service, route, cancel_cause
ORDER BY sent DESC, service, route, cancel_cause
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
