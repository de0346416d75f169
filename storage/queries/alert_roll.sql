-- Counts minutes for alerts anew from their hops.
-- from, to  nanoseconds since 1970: they enclose the minutes
-- minutes   their starts, seconds since 1970
-- version   of the rows that are written
-- What is counted is what the deadline connector counts from the same spans: an entry has a route, any other hop a stage and a
-- peer. The months of the minutes.
INSERT INTO alert_minutes (at, service, route, stage, peer, cause, phase, requests, missed, degraded, cancelled, stopped_late, worked_on, silent, blamed, version)
WITH
    ['client_disconnect', 'upstream_cancel', 'superseded', 'sibling_failed', 'shutdown'] AS benign,
    entry AND (isNotNull(budget_received_ns) OR (exhausted AND isNotNull(budget_requested_ns))) AS budgeted,
    budgeted AND ((answered AND ifNull(h.late, false)) OR exhausted) AS lost,
    isNotNull(post_cancel_time_ns) AS measured
SELECT
    toStartOfMinute(toDateTime(ts, 'UTC')) AS minute,
    service,
    if(entry, h.route, '') AS of_route,
    if(entry, '', if(h.stage = '', name, h.stage)) AS of_stage,
    if(entry, '', h.peer) AS of_peer,
    cancel_cause,
    timeout_phase,
    sumIf(weight, budgeted) AS requests,
    sumIf(weight, lost) AS missed,
    sumIf(weight, budgeted AND NOT lost AND answered AND outcome IN ('degraded', 'partial')) AS degraded,
    sumIf(weight, measured) AS cancelled,
    sumIf(weight, measured AND post_cancel_time_ns > 100000000) AS stopped_late,
    sumIf(weight, measured AND post_cancel_time_ns > 1000000) AS worked_on,
    sumIf(weight, timeout_phase IN ('first_token', 'between_tokens')) AS silent,
    sumIf(weight, if(cancel_cause = '', (NOT entry AND decision = 'reject') OR (entry AND outcome = 'rejected'), cancel_cause NOT IN benign)) AS blamed,
    {version:UInt64} AS version
FROM hops AS h FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND toInt64(toUnixTimestamp(minute)) IN {minutes:Array(Int64)}
    AND (entry OR cancel_cause != '' OR timeout_phase != '' OR isNotNull(post_cancel_time_ns) OR decision = 'reject')
GROUP BY minute, service, of_route, of_stage, of_peer, cancel_cause, timeout_phase
UNION ALL
SELECT toDateTime(arrayJoin({minutes:Array(Int64)}), 'UTC'), '', '', '', '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, {version:UInt64}
