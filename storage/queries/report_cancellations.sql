-- Why were requests cancelled? One row per route and cause, the most frequent first.
-- from, to               nanoseconds since 1970, from inclusive, to exclusive
-- service, route, cause  exact; '' means any
-- environment, version, outcome, late, margin_lt, margin_gt  of the entry, exact or exclusive nanoseconds; '' and NULL mean any
-- limit, skip            rows
-- Patience is how long a client waited before it left: the time of the signal, else the length of the span. Reads the months
-- of the window; with a service, the prefix (service) of the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits,
    if(cancel_cause IN ('client_disconnect', 'upstream_cancel'), ifNull(cancel_after_ns, duration_ns), NULL) AS waited,
    toUInt64(greatest(round(weight * 16), 1)) AS times
SELECT
    service,
    route,
    cancel_cause,
    toUInt64(round(sum(weight))) AS sent,
    toUInt64(round(sumIf(weight, ifNull(cancel_confirmed, false)))) AS confirmed,
    quantileExactWeighted(0.5)(digits(waited), times) AS patience_p50,
    quantileExactWeighted(0.95)(digits(waited), times) AS patience_p95,
    quantileExactWeighted(0.5)(digits(budget_received_ns), times) AS budget_p50
FROM hops FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND cancel_cause != ''
    AND ({service:String} = '' OR service = {service:String})
    AND NOT has({not_service:Array(String)}, service)
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
    AND ({cause:String} = '' OR cancel_cause = {cause:String})
    AND NOT has({not_cause:Array(String)}, cancel_cause)
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({version:String} = '' OR service_version = {version:String})
    AND ({outcome:String} = '' OR outcome = {outcome:String})
    AND (isNull({late:Nullable(Bool)}) OR ifNull(late, false) = {late:Nullable(Bool)})
    AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
    AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
GROUP BY service, route, cancel_cause
ORDER BY sent DESC, service, route, cancel_cause
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
