-- What do the calls of each dependency need? One row per service, stage and peer, the busiest first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- service, stage, peer  exact; '' means any
-- environment           of the hop, exact; '' means any
-- rate                  accepted share of false timeouts, between 0 and 1
-- limit, skip           rows
-- A call that was cut counts as four times as long as it lasted, so that a limit never tightens itself. What followed a call is
-- what it left less the margin of its answered entry, where its service is entered once in the trace and the call had an allowance. Reads the months of the
-- window; with a service, the prefix (service) of the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits
SELECT
    service,
    place AS stage,
    peer,
    toUInt64(round(sum(weight))) AS calls,
    count() AS seen,
    countIf(cut) AS cuts,
    quantileExactWeighted(0.5)(digits(length), times) AS p50,
    quantileExactWeighted(1 - {rate:Float64})(digits(length), times) AS tail,
    max(length) AS longest,
    countIf(isNotNull(followed)) AS measured,
    quantileExactWeightedIf(0.99)(ifNull(digits(followed), 0), times, isNotNull(followed)) AS needed_p99,
    count(cap_ns) AS capped,
    quantileExactWeightedIf(0.5)(ifNull(digits(cap_ns), 0), times, isNotNull(cap_ns)) AS cap_p50,
    count(observed_limit_ns) AS limited,
    quantileExactWeightedIf(0.5)(ifNull(digits(observed_limit_ns), 0), times, isNotNull(observed_limit_ns)) AS observed_p50,
    count(reserve_ns) AS reserved,
    quantileExactWeightedIf(0.5)(ifNull(digits(reserve_ns), 0), times, isNotNull(reserve_ns)) AS reserve_p50,
    count(min_useful_ns) AS floored,
    quantileExactWeightedIf(0.5)(ifNull(digits(min_useful_ns), 0), times, isNotNull(min_useful_ns)) AS min_useful_p50
FROM
(
    SELECT
        hop.*,
        toUInt64(greatest(round(hop.weight * 16), 1)) AS times,
        if(entries.n = 1 AND entries.answered AND isNotNull(hop.remaining_after_ns - entries.margin), greatest(hop.remaining_after_ns - entries.margin, 0), NULL) AS followed
    FROM
    (
        SELECT
            service, if(stage = '', name, stage) AS place, peer, cityHash64(trace_id, service) AS request, weight,
            cancel_cause IN ('local_deadline', 'upstream_deadline', 'expiry', 'stream_idle') AS cut,
            least(duration_ns, 1000000000000000000) * if(cut, 4, 1) AS length,
            cap_ns, observed_limit_ns, if(isNull(allowance_ns), NULL, h.reserve_ns) AS reserve_ns, min_useful_ns, if(isNull(allowance_ns), NULL, h.remaining_after_ns) AS remaining_after_ns
        FROM hops AS h FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND NOT entry
            AND decision IN ('', 'run')
            AND (kind IN ('Client', 'Producer') OR stage != '')
            AND (cut OR cancel_cause = '')
            AND ({service:String} = '' OR service = {service:String})
            AND NOT has({not_service:Array(String)}, service)
            AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
            AND NOT has({not_stage:Array(String)}, if(stage = '', name, stage))
            AND ({peer:String} = '' OR peer = {peer:String})
            AND NOT has({not_peer:Array(String)}, peer)
            AND ({environment:String} = '' OR environment = {environment:String})
    ) AS hop
    LEFT JOIN
    (
        SELECT cityHash64(trace_id, service) AS request, count() AS n, any(answered) AS answered, any(margin_ns) AS margin
        FROM hops FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND entry
            AND ({service:String} = '' OR service = {service:String})
            AND NOT has({not_service:Array(String)}, service)
        GROUP BY request
    ) AS entries ON entries.request = hop.request
)
GROUP BY service, stage, peer
ORDER BY seen DESC, service, stage, peer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
