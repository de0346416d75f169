-- What did answered requests spend where, over time? One row per route, place and stretch of time; the place with the kind '' is the
-- request as a whole: its amount is the budget granted.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- bucket          length of a stretch, nanoseconds; stretches start at multiples of it since 1970
-- service, route, environment, version, outcome, rule  of the account, exact; '' means any
-- services        of the account, exact; empty means any
-- keys            cityHash64(service, route) of the routes wanted; empty means all
-- late            NULL means any
-- margin_lt, margin_gt  nanoseconds, exclusive; NULL means any
-- limit           rows
-- The accounts of answered requests with a budget: with a service or services, and route, the prefix of the sort key, else the index on ts.
-- Amounts and calls are those of the requests that sampled ones stand for; seen counts requests themselves.
SELECT
    service,
    route,
    toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {bucket:Int64} AS at,
    toString(part.1) AS kind,
    toString(part.2) AS stage,
    toString(part.3) AS peer,
    sum(weight * part.4) / 1e9 AS amount,
    sum(weight * part.5) AS calls,
    sum(weight * part.6) AS degraded,
    count() AS seen,
    sum(weight) AS requests
FROM accounts AS a FINAL
ARRAY JOIN arrayConcat(
    [('', '', '', assumeNotNull(budget_ns), toUInt32(1), toUInt32(0))],
    arrayMap((k, s, p, n, c, d) -> (toString(k), toString(s), toString(p), n, c, d), `spent.kind`, `spent.stage`, `spent.peer`, `spent.ns`, `spent.calls`, `spent.degraded`)) AS part
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND answered
    AND isNotNull(margin_ns)
    AND isNotNull(budget_ns)
    AND ({service:String} = '' OR service = {service:String})
    AND NOT has({not_service:Array(String)}, service)
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
    AND (empty({services:Array(String)}) OR service IN {services:Array(String)})
    AND (empty({keys:Array(UInt64)}) OR cityHash64(service, route) IN {keys:Array(UInt64)})
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({version:String} = '' OR service_version = {version:String})
    AND ({outcome:String} = '' OR outcome = {outcome:String})
    AND ({rule:String} = '' OR has(rules, {rule:String}))
    AND NOT hasAny({not_rule:Array(String)}, rules)
    AND (isNull({late:Nullable(Bool)}) OR a.late = {late:Nullable(Bool)})
    AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
    AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
GROUP BY service, route, kind, stage, peer, at
ORDER BY service, route, kind, stage, peer, at
LIMIT {limit:UInt32}
