-- What was spent where on each day? One row per route, day and place, oldest first; the place with the kind '' is the request as a
-- whole: its amount is the budget granted.
-- from, to        nanoseconds since 1970, whole days, from inclusive, to exclusive
-- services        exact; empty means any
-- keys            cityHash64(service, route) of the routes wanted; empty means all
-- limit           rows
-- The accounts of answered requests with a budget: the index on ts; with services, the prefix (service) of the sort key. Amounts and
-- calls are those of the requests that sampled ones stand for; seen counts requests themselves.
SELECT
    service,
    route,
    toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % 86400000000000 AS day,
    toString(part.1) AS kind,
    toString(part.2) AS stage,
    toString(part.3) AS peer,
    sum(weight * part.4) / 1e9 AS amount,
    sum(weight * part.5) AS calls,
    sum(weight * part.6) AS degraded,
    count() AS seen,
    sum(weight) AS requests
FROM accounts FINAL
ARRAY JOIN arrayConcat(
    [('', '', '', assumeNotNull(budget_ns), toUInt32(1), toUInt32(0))],
    arrayMap((k, s, p, n, c, d) -> (toString(k), toString(s), toString(p), n, c, d), `spent.kind`, `spent.stage`, `spent.peer`, `spent.ns`, `spent.calls`, `spent.degraded`)) AS part
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND answered
    AND isNotNull(margin_ns)
    AND isNotNull(budget_ns)
    AND (empty({services:Array(String)}) OR service IN {services:Array(String)})
    AND (empty({keys:Array(UInt64)}) OR cityHash64(service, route) IN {keys:Array(UInt64)})
GROUP BY service, route, day, kind, stage, peer
ORDER BY service, route, kind, stage, peer, day
LIMIT {limit:UInt32}
