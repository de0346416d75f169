-- Where do chains degrade? One row per service, route, stage and peer: the most degraded first, then the longest.
-- from, to                            nanoseconds since 1970, from inclusive, to exclusive
-- service, route, stage, peer, cause  exact; '' means any
-- limit, skip                         rows
-- A hop belongs to the route of the entry of its trace in its service. Spend covers hops that ran. Reads the months of the
-- window; with a service, the prefix (service) of the sort key.
SELECT
    hop.service AS service,
    entries.route AS route,
    if(hop.stage = '', hop.name, hop.stage) AS place,
    hop.peer AS peer,
    count() AS calls,
    quantileExact(0.5)(if(hop.decision IN ('', 'run'), hop.duration_ns, NULL)) AS spend_p50,
    quantileExact(0.95)(if(hop.decision IN ('', 'run'), hop.duration_ns, NULL)) AS spend_p95,
    countIf(hop.decision NOT IN ('', 'run')) AS degraded,
    degraded / calls AS degraded_ratio,
    sumMap(if(hop.decision = '', CAST(map(), 'Map(String, UInt64)'), map(toString(hop.decision), toUInt64(1)))) AS decisions,
    sumMap(if(hop.cancel_cause = '', CAST(map(), 'Map(String, UInt64)'), map(toString(hop.cancel_cause), toUInt64(1)))) AS causes,
    sumMap(if(hop.timeout_phase = '', CAST(map(), 'Map(String, UInt64)'), map(toString(hop.timeout_phase), toUInt64(1)))) AS phases
FROM
(
    SELECT service, name, stage, peer, decision, cancel_cause, timeout_phase, duration_ns, cityHash64(trace_id, service) AS request
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND NOT entry
        AND (kind IN ('Client', 'Producer') OR stage != '')
        AND ({service:String} = '' OR service = {service:String})
        AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
        AND ({peer:String} = '' OR peer = {peer:String})
        AND ({cause:String} = '' OR cancel_cause = {cause:String})
) AS hop
LEFT JOIN
(
    SELECT cityHash64(trace_id, service) AS request, argMin(route, ts) AS route
    FROM hops
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND entry
        AND is_deleted = 0
        AND ({service:String} = '' OR service = {service:String})
    GROUP BY request
) AS entries ON entries.request = hop.request
WHERE {route:String} = '' OR entries.route = {route:String}
GROUP BY service, route, place, peer
ORDER BY degraded_ratio DESC, spend_p95 DESC, service, route, place, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
