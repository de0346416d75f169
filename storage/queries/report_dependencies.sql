-- Slow dependency or stingy caller? One row per caller, peer and stage: what stands out first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- before                begin of the baseline, which ends at from
-- service, stage, peer  exact; '' means any
-- limit, skip           rows
-- The usual tail and the baseline are those of the baseline's calls that were not cut by time. Generosity is the allowance by the
-- usual tail, slowdown the latency by the baseline's. Between is the call less the callee's span. Reads the months of both
-- windows; with a service, the prefix (service) of the sort key.
WITH
    fromUnixTimestamp64Nano({from:Int64}, 'UTC') AS begin,
    hop.ts >= begin AS now,
    NOT now AND hop.cancel_cause = '' AS base
SELECT
    hop.service AS service,
    hop.peer AS peer,
    hop.place AS stage,
    countIf(now) AS calls,
    quantileExact(0.5)(if(now, hop.allowance_ns, NULL)) AS allowance_p50,
    quantileExact(0.99)(if(base, hop.duration_ns, NULL)) AS usual_p99,
    quantileExact(0.5)(if(now, hop.duration_ns, NULL)) AS latency_p50,
    quantileExact(0.5)(if(base, hop.duration_ns, NULL)) AS baseline_p50,
    if(usual_p99 > 0, allowance_p50 / usual_p99, NULL) AS generosity,
    if(baseline_p50 > 0, latency_p50 / baseline_p50, NULL) AS slowdown,
    quantileExact(0.5)(if(now, greatest(hop.duration_ns - callee.duration, 0), NULL)) AS between_p50,
    countIf(now AND NOT ifNull(hop.connection_reused, true)) AS fresh,
    quantileExact(0.5)(if(now AND NOT ifNull(hop.connection_reused, true), hop.duration_ns, NULL)) AS fresh_p50,
    quantileExact(0.99)(if(now AND NOT ifNull(hop.connection_reused, true), hop.duration_ns, NULL)) AS fresh_p99,
    countIf(now AND ifNull(hop.connection_reused, false)) AS reused,
    quantileExact(0.5)(if(now AND ifNull(hop.connection_reused, false), hop.duration_ns, NULL)) AS reused_p50,
    quantileExact(0.99)(if(now AND ifNull(hop.connection_reused, false), hop.duration_ns, NULL)) AS reused_p99
FROM
(
    SELECT
        service, peer, if(stage = '', name, stage) AS place, ts, allowance_ns, duration_ns, cancel_cause, connection_reused,
        cityHash64(trace_id, span_id) AS call
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({before:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND NOT entry
        AND kind IN ('Client', 'Producer')
        AND decision IN ('', 'run')
        AND ({service:String} = '' OR service = {service:String})
        AND ({peer:String} = '' OR peer = {peer:String})
        AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
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
HAVING calls > 0
ORDER BY greatest(ifNull(slowdown, 0), if(generosity > 0, 1 / generosity, 0)) DESC, calls DESC, service, peer, stage
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
