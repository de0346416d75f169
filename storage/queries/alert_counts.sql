-- How much of each thing that alerts count was there, in several windows at once? One row for each value of the labels; each count
-- is an array with one value for each window. first is when the earliest minute with requests began, seconds since 1970.
-- by            labels that are told apart, of service, route, stage, peer, cause, phase; the others are ''
-- begins, ends  of the windows, seconds since 1970, begin inclusive, end exclusive
-- from, to      enclose the windows, and how far back first is looked for
-- limit         rows
-- The sort key's prefix at.
WITH
    toInt64(toUnixTimestamp(at)) AS t,
    arrayMap((b, e) -> toFloat64(t >= b AND t < e), {begins:Array(Int64)}, {ends:Array(Int64)}) AS inside
SELECT
    if(has({by:Array(String)}, 'service'), service, '') AS l_service,
    if(has({by:Array(String)}, 'route'), route, '') AS l_route,
    if(has({by:Array(String)}, 'stage'), stage, '') AS l_stage,
    if(has({by:Array(String)}, 'peer'), peer, '') AS l_peer,
    if(has({by:Array(String)}, 'cause'), cause, '') AS l_cause,
    if(has({by:Array(String)}, 'phase'), phase, '') AS l_phase,
    minIf(t, requests > 0) AS first,
    sumForEach(arrayMap(x -> x * requests, inside)) AS c_requests,
    sumForEach(arrayMap(x -> x * missed, inside)) AS c_missed,
    sumForEach(arrayMap(x -> x * (missed + degraded), inside)) AS c_missed_or_degraded,
    sumForEach(arrayMap(x -> x * cancelled, inside)) AS c_cancelled,
    sumForEach(arrayMap(x -> x * stopped_late, inside)) AS c_stopped_late,
    sumForEach(arrayMap(x -> x * worked_on, inside)) AS c_worked_on,
    sumForEach(arrayMap(x -> x * silent, inside)) AS c_silent,
    sumForEach(arrayMap(x -> x * blamed, inside)) AS c_blamed
FROM alert_minutes
WHERE at >= toDateTime({from:Int64}, 'UTC')
    AND at < toDateTime({to:Int64}, 'UTC')
    AND (at, version) IN (
        SELECT at, max(version)
        FROM alert_minutes
        WHERE at >= toDateTime({from:Int64}, 'UTC') AND at < toDateTime({to:Int64}, 'UTC')
        GROUP BY at
    )
    AND service != ''
GROUP BY l_service, l_route, l_stage, l_peer, l_cause, l_phase
ORDER BY l_service, l_route, l_stage, l_peer, l_cause, l_phase
LIMIT {limit:UInt32}
