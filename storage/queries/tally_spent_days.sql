-- spent_days.sql from rollups.
WITH splitByChar('.', toString(measure)) AS parts
SELECT
    service, route,
    start - start % 86400000000000 AS day,
    if(measure = 'granted', '', parts[2]) AS kind,
    toString(stage) AS place,
    toString(peer) AS called,
    sumIf(total, measure = 'granted' OR parts[1] = 'spent') / 1e9 AS amount,
    if(kind = '', sum(represented), sumIf(total, parts[1] = 'calls')) AS calls,
    sumIf(total, parts[1] = 'degraded') AS degraded,
    sumIf(seen, measure = 'granted' OR parts[1] = 'spent') AS all_seen,
    sumIf(represented, measure = 'granted' OR parts[1] = 'spent') AS requests
FROM
@tally(spending) AS t
WHERE (measure = 'granted' OR startsWith(measure, 'spent.') OR startsWith(measure, 'calls.') OR startsWith(measure, 'degraded.'))
    AND (empty({services:Array(String)}) OR service IN {services:Array(String)})
    AND (empty({keys:Array(UInt64)}) OR cityHash64(service, route) IN ({keys:Array(UInt64)}))
GROUP BY service, route, day, kind, place, called
ORDER BY service, route, kind, place, called, day
LIMIT {limit:UInt32}
