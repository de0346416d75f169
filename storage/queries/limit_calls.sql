-- What do the calls of one edge show that lasted long? One row per call, a sample by hash if there are more than the limit.
-- from, to              milliseconds since 1970, of arrival, from inclusive, to exclusive
-- service, peer, place  the edge; peer as the calls name it
-- length                nanoseconds, the least
-- limit                 rows
-- The callee is the longest server span below the call. The prefix (service, kind) of the sort key for the calls, the bloom
-- filter on trace_id for the callees.
WITH calls AS
(
    SELECT trace_id, span_id, min(ts) AS began, max(duration_ns) AS length, max(status = 'Error') AS has_failed,
        max(cancel_cause != '' OR timeout_phase != '') AS has_timed_out
    FROM hops
    WHERE service = {service:String}
        AND kind = 'Client'
        AND ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
        AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        AND peer = {peer:String}
        AND if(stage = '', name, stage) = {place:String}
        AND is_deleted = 0
        AND duration_ns >= {length:Int64}
        AND isNull(allowance_ns)
        AND isNull(remaining_before_ns)
        AND cancel_cause IN ('', 'local_deadline', 'stream_idle')
    GROUP BY trace_id, span_id
    ORDER BY cityHash64(trace_id, span_id)
    LIMIT {limit:UInt32}
)
SELECT
    lower(hex(calls.trace_id)) AS trace,
    toUnixTimestamp64Nano(calls.began) AS began,
    calls.length AS length,
    calls.has_failed AS failed,
    calls.has_timed_out OR callee.gone AS timed_out,
    callee.service AS callee,
    toUnixTimestamp64Nano(callee.began) AS callee_began,
    callee.length AS callee_length
FROM calls
LEFT JOIN
(
    SELECT trace_id, parent_span_id, argMax(service, (duration_ns, span_id)) AS service, argMax(ts, (duration_ns, span_id)) AS began,
        max(duration_ns) AS length,
        max(cancel_cause IN ('client_disconnect', 'upstream_cancel', 'upstream_deadline')
            OR cancel_cause IN ('local_deadline', 'expiry') AND budget_source IN ('caller', 'envelope')) AS gone
    FROM hops
    WHERE trace_id IN (SELECT trace_id FROM calls) AND kind = 'Server' AND is_deleted = 0
    GROUP BY trace_id, parent_span_id
) AS callee ON callee.trace_id = calls.trace_id AND callee.parent_span_id = calls.span_id
ORDER BY trace, began, length
