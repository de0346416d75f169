-- phases: where calls wait and time out. detail is the phase.
-- time                     of a phase that was measured
-- timeout                  counts timeouts; timeout.reused and timeout.fresh those over a connection of which that is known
SELECT if(name = 'time', 'time', if(isNull(connection_reused), 'timeout', if(assumeNotNull(connection_reused), 'timeout.reused', 'timeout.fresh'))) AS measure,
    service, at AS ts, '' AS route, '' AS stage, peer, phase AS detail, weight, ifNull(amount, 0) AS value, name = 'time' AS spreads, false AS exemplary, false AS dated, trace_id
FROM
(
    SELECT
        service, toUnixTimestamp64Nano(ts) AS at, peer, timeout_phase, connection_reused, weight, trace_id,
        [toNullable(toFloat64(phase_queue_time_ns)), toFloat64(phase_pool_time_ns), toFloat64(phase_dns_time_ns), toFloat64(phase_connect_time_ns), toFloat64(phase_tls_time_ns),
            toFloat64(phase_request_time_ns), toFloat64(phase_first_byte_time_ns), toFloat64(phase_first_token_time_ns),
            toFloat64(phase_between_tokens_time_ns), toFloat64(phase_body_time_ns), toFloat64(phase_db_execution_time_ns), toFloat64(phase_total_time_ns)] AS times
    FROM hops FINAL
    WHERE @when AND (timeout_phase != '' OR isNotNull(coalesce(phase_queue_time_ns, phase_pool_time_ns, phase_dns_time_ns, phase_connect_time_ns, phase_tls_time_ns,
        phase_request_time_ns, phase_first_byte_time_ns, phase_first_token_time_ns, phase_between_tokens_time_ns, phase_body_time_ns,
        phase_db_execution_time_ns, phase_total_time_ns)))
)
ARRAY JOIN
    arrayFilter((phase, amount) -> isNotNull(amount) OR phase = timeout_phase, CAST(['queue', 'pool', 'dns', 'connect', 'tls', 'request', 'first_byte', 'first_token', 'between_tokens', 'body', 'db_execution', 'total'], 'Array(LowCardinality(String))'), times) AS phase,
    arrayFilter((amount, phase) -> isNotNull(amount) OR phase = timeout_phase, times, CAST(['queue', 'pool', 'dns', 'connect', 'tls', 'request', 'first_byte', 'first_token', 'between_tokens', 'body', 'db_execution', 'total'], 'Array(LowCardinality(String))')) AS amount
ARRAY JOIN if(timeout_phase = phase, ['time', 'timeout'], ['time']) AS name
WHERE isNotNull(amount) OR name = 'timeout'
