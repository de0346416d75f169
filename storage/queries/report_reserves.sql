-- Are reserves too small or wastefully large, and which hops start without hope? One row per service, route, stage and peer: the
-- most eaten reserves first, then the most hopeless starts.
-- from, to                     nanoseconds since 1970, from inclusive, to exclusive
-- service, route, stage, peer  exact; '' means any
-- environment, version         of the hop, exact; '' means any
-- limit, skip                  rows
-- What followed a hop is what it left less the margin of its answered entry: both by the clock of one process, told only where its
-- service is entered once in the trace. Hops have an allowance; reserves are of those that ran. A start is hopeless if the allowance was less than the median of the calls of its stage and
-- peer in the window that were not cut, given 20 of them. Reads the months of the window; with a service, the prefix (service) of
-- the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits
SELECT
    service,
    route,
    place AS stage,
    peer,
    toUInt64(round(sum(weight))) AS calls,
    countIf(isNotNull(reserve_ns)) AS reserved,
    quantileExactWeightedIf(0.5)(ifNull(digits(reserve_ns), 0), times, isNotNull(reserve_ns)) AS reserve_p50,
    countIf(isNotNull(followed)) AS measured,
    quantileExactWeightedIf(0.5)(ifNull(digits(followed), 0), times, isNotNull(followed)) AS needed_p50,
    quantileExactWeightedIf(0.99)(ifNull(digits(followed), 0), times, isNotNull(followed)) AS needed_p99,
    toUInt64(round(sumIf(weight, ate))) AS eaten,
    toUInt64(round(sumIf(weight, isNotNull(reserve_ns)))) AS with_reserve,
    toUInt64(round(sumIf(weight, hopeless))) AS hopeless_starts,
    toUInt64(round(sumIf(weight, judged))) AS judged_starts,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), groupArraySorted(12)((NOT (ate OR hopeless), trace_id)))), 1, 3) AS examples
FROM
(
    SELECT
        hop.service AS service,
        entries.route AS route,
        hop.place AS place,
        hop.peer AS peer,
        hop.trace_id AS trace_id,
        hop.weight AS weight,
        toUInt64(greatest(round(hop.weight * 16), 1)) AS times,
        if(hop.ran, hop.reserve_ns, NULL) AS reserve_ns,
        hop.ran AND isNotNull(hop.allowance_ns) AND usual.n >= 20 AS judged,
        judged AND ifNull(hop.allowance_ns, 0) < usual.median AS hopeless,
        ifNull(hop.ran AND hop.reserve_ns - hop.remaining_after_ns > greatest(1000000, 0.1 * hop.reserve_ns), false) AS ate,
        if(hop.ran AND entries.n = 1 AND entries.answered AND isNotNull(hop.remaining_after_ns - entries.margin), greatest(hop.remaining_after_ns - entries.margin, 0), NULL) AS followed
    FROM
    (
        SELECT service, if(stage = '', name, stage) AS place, peer, trace_id, cityHash64(trace_id, service) AS request, weight,
            decision IN ('', 'run') AS ran, allowance_ns, reserve_ns, remaining_after_ns
        FROM hops FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND NOT entry
            AND isNotNull(allowance_ns)
            AND ({service:String} = '' OR service = {service:String})
            AND NOT has({not_service:Array(String)}, service)
            AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
            AND NOT has({not_stage:Array(String)}, if(stage = '', name, stage))
            AND ({peer:String} = '' OR peer = {peer:String})
            AND NOT has({not_peer:Array(String)}, peer)
            AND ({environment:String} = '' OR environment = {environment:String})
            AND ({version:String} = '' OR service_version = {version:String})
    ) AS hop
    LEFT JOIN
    (
        SELECT cityHash64(trace_id, service) AS request, count() AS n, argMin(route, ts) AS route, any(answered) AS answered, any(margin_ns) AS margin
        FROM hops FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND entry
            AND ({service:String} = '' OR service = {service:String})
            AND NOT has({not_service:Array(String)}, service)
        GROUP BY request
    ) AS entries ON entries.request = hop.request
    LEFT JOIN
    (
        SELECT service, if(stage = '', name, stage) AS place, peer, count() AS n, quantileExactWeighted(0.5)(digits(duration_ns), toUInt64(greatest(round(weight * 16), 1))) AS median
        FROM hops FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND NOT entry
            AND decision IN ('', 'run')
            AND cancel_cause = ''
            AND (kind IN ('Client', 'Producer') OR stage != '')
            AND ({service:String} = '' OR service = {service:String})
            AND NOT has({not_service:Array(String)}, service)
        GROUP BY service, place, peer
    ) AS usual ON usual.service = hop.service AND usual.place = hop.place AND usual.peer = hop.peer
    WHERE ({route:String} = '' OR entries.route = {route:String})
        AND NOT has({not_route:Array(String)}, entries.route)
)
GROUP BY service, route, stage, peer
ORDER BY eaten / greatest(with_reserve, 1) DESC, hopeless_starts / greatest(judged_starts, 1) DESC, calls DESC, service, route, stage, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
