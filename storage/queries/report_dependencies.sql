-- Slow dependency or stingy caller? One row per caller, peer and stage: what stands out first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- before                begin of the baseline, which ends at from
-- service, stage, peer  exact; '' means any
-- environment, version  of the caller, exact; '' means any
-- limit, skip           rows
-- The usual tail and the baseline are those of the baseline's calls that were not cut by time. Generosity is the allowance by the
-- usual tail, slowdown the latency by the baseline's. Between is the call less the callee's span. Reads the months of both
-- windows; with a service, the prefix (service) of the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits,
    fromUnixTimestamp64Nano({from:Int64}, 'UTC') AS begin,
    hop.ts >= begin AS now,
    NOT now AND NOT hop.cut AS base,
    ifNull(hop.connection_reused, false) AS warm,
    NOT ifNull(hop.connection_reused, true) AS cold
SELECT
    hop.service AS service,
    hop.peer AS peer,
    hop.place AS stage,
    toUInt64(round(sumIf(hop.weight, now))) AS calls,
    countIf(now) AS seen,
    toUInt64(round(sumIf(hop.weight, now AND hop.cut))) AS cuts,
    countIf(base) AS baseline_calls,
    countIf(now AND isNotNull(hop.allowance)) AS allowed,
    quantileExactWeightedIf(0.5)(ifNull(hop.allowance, 0), hop.times, now AND isNotNull(hop.allowance)) AS allowance_p50,
    quantileExactWeightedIf(0.99)(hop.length, hop.times, base) AS usual_p99,
    quantileExactWeightedIf(0.5)(hop.length, hop.times, now) AS latency_p50,
    quantileExactWeightedIf(0.5)(hop.length, hop.times, base) AS baseline_p50,
    countIf(now AND isNotNull(callee.duration)) AS answered,
    quantileExactWeightedIf(0.5)(digits(greatest(hop.duration_ns - ifNull(callee.duration, 0), 0)), hop.times, now AND isNotNull(callee.duration)) AS between_p50,
    toUInt64(round(sumIf(hop.weight, now AND cold))) AS fresh,
    quantileExactWeightedIf(0.5)(hop.length, hop.times, now AND cold) AS fresh_p50,
    quantileExactWeightedIf(0.99)(hop.length, hop.times, now AND cold) AS fresh_p99,
    toUInt64(round(sumIf(hop.weight, now AND warm))) AS reused,
    quantileExactWeightedIf(0.5)(hop.length, hop.times, now AND warm) AS reused_p50,
    quantileExactWeightedIf(0.99)(hop.length, hop.times, now AND warm) AS reused_p99,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), groupArraySortedIf(12)((-hop.duration_ns, hop.trace_id), now))), 1, 3) AS examples,
    maxIf(toUnixTimestamp64Nano(hop.ts), now) AS last_seen
FROM
(
    SELECT
        service, peer, if(stage = '', name, stage) AS place, ts, trace_id, digits(allowance_ns) AS allowance, digits(duration_ns) AS length, duration_ns, connection_reused, weight,
        cancel_cause != '' AS cut, toUInt64(greatest(round(weight * 16), 1)) AS times, cityHash64(trace_id, span_id) AS call
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({before:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND NOT entry
        AND kind IN ('Client', 'Producer')
        AND decision IN ('', 'run')
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND ({peer:String} = '' OR peer = {peer:String})
        AND NOT has({not_peer:Array(String)}, peer)
        AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
        AND NOT has({not_stage:Array(String)}, if(stage = '', name, stage))
        AND ({environment:String} = '' OR environment = {environment:String})
        AND ({version:String} = '' OR ts < begin OR service_version = {version:String})
) AS hop
LEFT JOIN
(
    SELECT cityHash64(trace_id, parent_span_id) AS call, toNullable(max(duration_ns)) AS duration
    FROM hops
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
        AND kind = 'Server'
        AND is_deleted = 0
    GROUP BY call
) AS callee ON callee.call = hop.call
GROUP BY service, peer, stage
HAVING seen > 0
ORDER BY
    greatest(if(baseline_p50 > 0, latency_p50 / baseline_p50, 0), if(allowance_p50 > 0 AND baseline_calls > 0, usual_p99 / allowance_p50, 0)) DESC,
    seen DESC,
    service,
    peer,
    stage
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
