-- report_spend.sql from rollups.
-- bucket  nanoseconds, whole hours: a row tells of one that starts at a multiple of it since 1970
WITH
    measure = 'granted' OR startsWith(measure, 'spent.') AS amounts,
    startsWith(measure, 'degraded.') AS refused
SELECT
    service, route,
    start - start % {bucket:Int64} AS at,
    toString(multiIf(measure = 'granted', '', refused, substring(measure, 10), substring(measure, 7))) AS kind,
    toString(stage) AS place,
    toString(peer) AS called,
    sumIf(total, amounts) / 1e9 AS amount,
    if(kind = '', sum(represented), sumIf(total, startsWith(measure, 'calls.'))) AS calls,
    sumIf(total, refused) AS degraded,
    sumIf(seen, amounts) AS all_seen,
    sumIf(represented, amounts) AS requests
FROM
@tally(spending) AS t
WHERE (measure = 'granted' OR startsWith(measure, 'spent.') OR startsWith(measure, 'calls.') OR startsWith(measure, 'degraded.'))
    AND (empty({services:Array(String)}) OR service IN {services:Array(String)})
    AND (empty({keys:Array(UInt64)}) OR cityHash64(service, route) IN ({keys:Array(UInt64)}))
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
GROUP BY service, route, at, kind, place, called
ORDER BY service, route, kind, place, called, at
LIMIT {limit:UInt32}
