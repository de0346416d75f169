-- Where do chains degrade? One row per service, route, stage and peer: the most degraded first, then the longest.
-- from, to                            nanoseconds since 1970, from inclusive, to exclusive
-- service, route, stage, peer, cause  exact; '' means any
-- environment, version, outcome, late, margin_lt, margin_gt  of the entry, exact or exclusive nanoseconds; '' and NULL mean any
-- limit, skip                         rows
-- A hop belongs to the route of the entry of its trace in its service. Spend covers hops that ran. Reads the months of the
-- window; with a service, the prefix (service) of the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits
SELECT
    hop.service AS service,
    entries.route AS route,
    if(hop.stage = '', hop.name, hop.stage) AS place,
    hop.peer AS peer,
    toUInt64(round(sum(hop.weight))) AS calls,
    quantileExactWeighted(0.5)(if(hop.decision IN ('', 'run'), hop.length, NULL), hop.times) AS spend_p50,
    quantileExactWeighted(0.95)(if(hop.decision IN ('', 'run'), hop.length, NULL), hop.times) AS spend_p95,
    toUInt64(round(sumIf(hop.weight, hop.decision NOT IN ('', 'run')))) AS degraded,
    sumIf(hop.weight, hop.decision NOT IN ('', 'run')) / sum(hop.weight) AS degraded_ratio,
    mapApply((k, v) -> (k, toUInt64(round(v))), sumMap(if(hop.decision = '', CAST(map(), 'Map(String, Float64)'), map(toString(hop.decision), hop.weight)))) AS decisions,
    mapApply((k, v) -> (k, toUInt64(round(v))), sumMap(if(hop.cancel_cause = '', CAST(map(), 'Map(String, Float64)'), map(toString(hop.cancel_cause), hop.weight)))) AS causes,
    mapApply((k, v) -> (k, toUInt64(round(v))), sumMap(if(hop.timeout_phase = '', CAST(map(), 'Map(String, Float64)'), map(toString(hop.timeout_phase), hop.weight)))) AS phases
FROM
(
    SELECT service, name, stage, peer, decision, cancel_cause, timeout_phase, digits(duration_ns) AS length, weight,
        toUInt64(greatest(round(weight * 16), 1)) AS times, cityHash64(trace_id, service) AS request
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND NOT entry
        AND (kind IN ('Client', 'Producer') OR stage != '')
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
        AND NOT has({not_stage:Array(String)}, if(stage = '', name, stage))
        AND ({peer:String} = '' OR peer = {peer:String})
        AND NOT has({not_peer:Array(String)}, peer)
        AND ({cause:String} = '' OR cancel_cause = {cause:String})
        AND NOT has({not_cause:Array(String)}, cancel_cause)
) AS hop
LEFT JOIN
(
    SELECT cityHash64(trace_id, service) AS request, argMin(route, ts) AS route, true AS known
    FROM hops
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND entry
        AND is_deleted = 0
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND ({environment:String} = '' OR environment = {environment:String})
        AND ({version:String} = '' OR service_version = {version:String})
        AND ({outcome:String} = '' OR outcome = {outcome:String})
        AND (isNull({late:Nullable(Bool)}) OR ifNull(late, false) = {late:Nullable(Bool)})
        AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
        AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
    GROUP BY request
) AS entries ON entries.request = hop.request
WHERE ({route:String} = '' OR entries.route = {route:String})
    AND NOT has({not_route:Array(String)}, entries.route)
    -- Asked about some entries only, a hop without one of them is not meant.
    AND (entries.known OR ({environment:String} = '' AND {version:String} = '' AND {outcome:String} = '' AND isNull({late:Nullable(Bool)})
        AND isNull({margin_lt:Nullable(Int64)}) AND isNull({margin_gt:Nullable(Int64)})))
GROUP BY service, route, place, peer
ORDER BY degraded_ratio DESC, spend_p95 DESC, service, route, place, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
