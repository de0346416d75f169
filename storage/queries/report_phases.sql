-- In which phase do calls time out? One row per service, peer and phase, the most timeouts first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- service, peer, phase  exact; '' means any
-- environment, version  of the hop, exact; '' means any
-- limit, skip           rows
-- The times are those of all calls whose phase was measured. Reads the months of the window; with a service, the prefix
-- (service) of the sort key.
WITH
    -- Four digits of a length: its quantiles are as good, and there are fewer of them to hold.
    (n, unit) -> intDiv(n + intDiv(unit, 2), unit) * unit AS whole,
    n -> whole(n, intExp10(greatest(toInt64(floor(log10(greatest(n, 1)))) - 3, 0))) AS digits
SELECT
    service,
    peer,
    part.1 AS phase,
    toUInt64(round(sumIf(weight, timeout_phase = phase))) AS timeouts,
    toUInt64(round(sumIf(weight, timeout_phase = phase AND ifNull(connection_reused, false)))) AS reused,
    toUInt64(round(sumIf(weight, timeout_phase = phase AND NOT ifNull(connection_reused, true)))) AS fresh,
    toUInt64(round(sumIf(weight, isNotNull(part.2)))) AS measured,
    quantileExactWeighted(0.5)(digits(part.2), times) AS p50,
    quantileExactWeighted(0.99)(digits(part.2), times) AS p99
FROM
(
    SELECT
        service,
        peer,
        timeout_phase,
        connection_reused,
        weight,
        toUInt64(greatest(round(weight * 16), 1)) AS times,
        arrayJoin(arrayFilter(p -> isNotNull(p.2) OR p.1 = timeout_phase, [
            ('queue', phase_queue_time_ns), ('pool', phase_pool_time_ns), ('dns', phase_dns_time_ns),
            ('connect', phase_connect_time_ns), ('tls', phase_tls_time_ns), ('request', phase_request_time_ns),
            ('first_byte', phase_first_byte_time_ns), ('first_token', phase_first_token_time_ns),
            ('between_tokens', phase_between_tokens_time_ns), ('body', phase_body_time_ns),
            ('db_execution', phase_db_execution_time_ns), ('total', phase_total_time_ns)])) AS part
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND ({peer:String} = '' OR peer = {peer:String})
        AND NOT has({not_peer:Array(String)}, peer)
        AND ({environment:String} = '' OR environment = {environment:String})
        AND ({version:String} = '' OR service_version = {version:String})
)
WHERE ({phase:String} = '' OR part.1 = {phase:String})
    AND NOT has({not_phase:Array(String)}, part.1)
GROUP BY service, peer, phase
ORDER BY timeouts DESC, measured DESC, service, peer, phase
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
