-- The findings of the traces of some days, as the worker would write them: late answers, exhausted budgets, and the work that the
-- backend goes on with after the client has left.
INSERT INTO verdicts (trace_id, span_id, service, kind, rule, ts, severity, entry_span_id, entry_service, route, stage, peer, amount_ns, evidence,
    cause, included_in, inferred, text)
SELECT
    toFixedString(concat(id_1, id_2), 16) AS trace_id,
    reinterpretAsFixedString(cityHash64(n, if(left_early, 3, 0))) AS span_id,
    if(left_early, back, front) AS service,
    'Server' AS kind,
    multiIf(left_early, 'orphan_work', ended, 'exhausted', 'late') AS rule,
    fromUnixTimestamp64Nano(if(left_early, t.ts + generate_at + network, t.ts), 'UTC') AS ts,
    'error' AS severity,
    reinterpretAsFixedString(cityHash64(n, 0)) AS entry_span_id,
    front AS entry_service,
    t.route AS route,
    concat('POST ', if(left_early, back_route, t.route)) AS stage,
    '' AS peer,
    multiIf(left_early, generate - waited, ended, length, -t.margin) AS amount_ns,
    multiIf(left_early, 'bound', ended, 'same_clock', 'measured') AS evidence,
    multiIf(left_early, 'upstream_cancel', ended, 'local_deadline', '') AS cause,
    toFixedString('', 8) AS included_in,
    left_early OR ended AS inferred,
    multiIf(
        left_early, concat(service, ' ', stage, ' worked at least ', toString(round(amount_ns / 1e6, 1)), ' ms for nobody: the wait of ', front,
            ' generate was ended after ', toString(round(waited / 1e6, 1)), ' ms by its caller\'s cancellation; about ',
            toString(round((amount_ns + network) / 1e6, 1)), ' ms by the two clocks'),
        ended, concat(service, ' ', stage, ' gave up after ', toString(length / 1e9), ' s, ended by its own deadline'),
        concat(service, ' ', stage, ' answered ', toString(round(amount_ns / 1e6, 1)), ' ms too late; it had received ', toString(budget / 1e9), ' s')) AS text
FROM
(
@traces
) AS t
WHERE left_early OR ended OR t.margin < 0
