-- Which traces show best what an alert speaks of? Ids in hexadecimal digits, the worst first.
-- from, to                             nanoseconds since 1970, from inclusive, to exclusive
-- what                                 missed, degraded, tight, cancelled, silent, or findings: orphan_work or renewed
-- service, route, stage, cause, phase  exact; '' means any
-- limit                                rows
-- The prefix (service) of the sort key; findings by the index on ts.
SELECT lower(hex(trace_id)) AS trace
FROM
(
    SELECT trace_id, -toFloat64(ifNull(amount_ns, 0)) AS badness
    FROM verdicts FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND (({what:String} = 'orphan_work' AND rule = 'orphan_work') OR ({what:String} = 'renewed' AND rule IN ('renewed_clock', 'dropped_header')))
        AND service = {service:String}
        AND ({stage:String} = '' OR stage = {stage:String})
        AND ({cause:String} = '' OR cause = {cause:String})
    UNION ALL
    SELECT
        trace_id,
        multiIf({what:String} = 'cancelled', -toFloat64(ifNull(post_cancel_time_ns, 0)), toFloat64(ifNull(margin_ns, 0))) AS badness
    FROM hops AS h FINAL
    WHERE service = {service:String}
        AND ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND multiIf(
            {what:String} = 'missed', entry AND ((answered AND ifNull(h.late, false)) OR exhausted),
            {what:String} = 'degraded', entry AND ((answered AND ifNull(h.late, false)) OR exhausted OR outcome IN ('degraded', 'partial')),
            {what:String} = 'tight', entry AND answered AND isNotNull(margin_ns),
            {what:String} = 'cancelled', post_cancel_time_ns > 1000000,
            {what:String} = 'silent', timeout_phase IN ('first_token', 'between_tokens'),
            false)
        AND ({route:String} = '' OR route = {route:String})
        AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String} OR entry)
        AND ({cause:String} = '' OR cancel_cause = {cause:String})
        AND ({phase:String} = '' OR timeout_phase = {phase:String})
)
GROUP BY trace_id
ORDER BY min(badness), trace_id
LIMIT {limit:UInt32}
