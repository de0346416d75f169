-- calls: what services call and do in stages. route is that of the first entry of the trace in the service, stage the stage or the
-- name, detail the cause of a cancellation.
-- call.DECISION     length of a call that ran, with examples; step.DECISION the same of a stage that is no call. The decision is run, or
--                   nothing where none was recorded
-- decision.NAME     counts what did not run
-- phase.NAME        counts timeouts
-- fresh, reused     length of a call that ran over a connection of which that is known
-- between           a call that ran less its callee
-- allowance         of a call that ran; allowance.step of a stage that is no call, allowance.refused of what did not run
-- reserve, eaten    of what ran with an allowance: the reserve, and what of it was used where that is more than clocks may err, with examples
-- followed          of what ran with an allowance: what it left less the margin of its answered entry, where there is one
-- cap, observed,    of what ran
--   useful
SELECT
    concat(name, multiIf(name IN ('call.', 'step.', 'decision.'), decision, name = 'phase.', timeout_phase, '')) AS measure,
    service, at AS ts, route, stage, peer, detail, weight, assumeNotNull(amount) AS value,
    name NOT IN ('decision.', 'phase.', 'eaten') AS spreads,
    name IN ('call.', 'eaten') AS exemplary, name = 'call.' AS dated,
    trace_id
FROM
(
    SELECT
        hop.service AS service, hop.began AS at, entries.route AS route, hop.place AS stage, hop.peer AS peer, hop.cause AS detail,
        hop.weight AS weight, hop.trace_id AS trace_id, hop.decision AS decision, hop.timeout_phase AS timeout_phase,
        hop.is_call AND hop.ran AS called,
        hop.ran AND (hop.is_call OR hop.staged) AS worked,
        hop.ran AND isNotNull(hop.allowance_ns) AS allowed,
        hop.remaining_after_ns - entries.margin AS rest,
        [
            if(called, toFloat64(hop.duration_ns), NULL),
            if(worked AND NOT hop.is_call, toFloat64(hop.duration_ns), NULL),
            if((hop.is_call OR hop.staged) AND NOT hop.ran, 0., NULL),
            if((hop.is_call OR hop.staged) AND hop.timeout_phase != '', 0., NULL),
            if(called AND NOT ifNull(hop.connection_reused, true), toFloat64(hop.duration_ns), NULL),
            if(called AND ifNull(hop.connection_reused, false), toFloat64(hop.duration_ns), NULL),
            if(called AND isNotNull(callee.duration), toFloat64(greatest(hop.duration_ns - assumeNotNull(callee.duration), 0)), NULL),
            if(called, toFloat64(hop.allowance_ns), NULL),
            if(allowed AND NOT hop.is_call, toFloat64(hop.allowance_ns), NULL),
            if(NOT hop.ran, toFloat64(hop.allowance_ns), NULL),
            if(allowed, toFloat64(hop.reserve_ns), NULL),
            if(allowed AND hop.reserve_ns - hop.remaining_after_ns > greatest(1000000, 0.1 * hop.reserve_ns), toFloat64(hop.reserve_ns - hop.remaining_after_ns), NULL),
            if(allowed AND entries.n = 1 AND entries.answered AND isNotNull(rest), toFloat64(greatest(assumeNotNull(rest), 0)), NULL),
            if(worked, toFloat64(hop.cap_ns), NULL),
            if(worked, toFloat64(hop.observed_limit_ns), NULL),
            if(worked, toFloat64(hop.min_useful_ns), NULL)
        ] AS amounts
    FROM
    (
        SELECT service, if(stage = '', name, stage) AS place, stage != '' AS staged, kind IN ('Client', 'Producer') AS is_call, peer, trace_id,
            toUnixTimestamp64Nano(ts) AS began, weight, cancel_cause AS cause, decision, decision IN ('', 'run') AS ran, timeout_phase,
            duration_ns, connection_reused, allowance_ns, reserve_ns, cap_ns, observed_limit_ns, min_useful_ns, remaining_after_ns,
            cityHash64(trace_id, span_id) AS call, cityHash64(trace_id, service) AS request
        FROM hops FINAL
        WHERE @when
            AND NOT entry
            AND (is_call OR staged OR isNotNull(allowance_ns))
    ) AS hop
    LEFT JOIN
    (
        SELECT cityHash64(trace_id, service) AS request, count() AS n, argMin(route, ts) AS route, any(answered) AS answered, any(margin_ns) AS margin
        FROM hops FINAL
        PREWHERE cityHash64(trace_id) IN (SELECT cityHash64(trace_id) FROM hops WHERE @when AND NOT entry)
        WHERE @near AND entry AND service IN (SELECT service FROM hops WHERE @when AND NOT entry)
        GROUP BY request
    ) AS entries ON entries.request = hop.request
    LEFT JOIN
    (
        SELECT cityHash64(trace_id, parent_span_id) AS call, toNullable(max(duration_ns)) AS duration
        FROM hops FINAL
        PREWHERE cityHash64(trace_id) IN (SELECT cityHash64(trace_id) FROM hops WHERE @when AND NOT entry)
        WHERE @near AND kind = 'Server'
        GROUP BY call
    ) AS callee ON callee.call = hop.call
)
ARRAY JOIN
    arrayFilter((name, amount) -> isNotNull(amount), CAST(['call.', 'step.', 'decision.', 'phase.', 'fresh', 'reused', 'between', 'allowance', 'allowance.step', 'allowance.refused', 'reserve', 'eaten',
        'followed', 'cap', 'observed', 'useful'], 'Array(LowCardinality(String))'), amounts) AS name,
    arrayFilter(amount -> isNotNull(amount), amounts) AS amount
