-- What were the margins of each route made of, in two windows? One row per route, window and kind of traffic: sums over answered
-- requests with a budget, each times the requests it stands for.
-- from, to        of the later window, nanoseconds since 1970, from inclusive, to exclusive
-- before, until   of the earlier one
-- service, route, environment, version  exact; '' means any
-- limit           rows
-- The accounts of both windows; with a service and route, the prefix of the sort key. Places are kind, stage and peer with
-- char(0) between them.
WITH
    ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') AS now,
    ts >= fromUnixTimestamp64Nano({before:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({until:Int64}, 'UTC') AS then
SELECT
    service,
    route,
    later,
    toString(channel) AS channel,
    toString(payload_class) AS payload_class,
    toString(region) AS region,
    sum(weight) AS requests,
    sum(weight * margin_ns) AS margin,
    sum(weight * budget_ns) AS budget,
    (sumMap(arrayMap((k, s, p) -> concat(k, char(0), s, char(0), p), `spent.kind`, `spent.stage`, `spent.peer`), arrayMap(n -> n * weight, `spent.ns`)) AS spent).1 AS places,
    spent.2 AS amounts
FROM
(
    -- An answer in both windows counts in both.
    SELECT service, route, arrayJoin(if(now AND then, [true, false], [now])) AS later, channel, payload_class, region, weight, assumeNotNull(a.margin_ns) AS margin_ns, assumeNotNull(a.budget_ns) AS budget_ns,
        `spent.kind`, `spent.stage`, `spent.peer`, `spent.ns`
    FROM accounts AS a FINAL
    WHERE (now OR then)
        AND ts >= fromUnixTimestamp64Nano(least({from:Int64}, {before:Int64}), 'UTC')
        AND ts < fromUnixTimestamp64Nano(greatest({to:Int64}, {until:Int64}), 'UTC')
        AND answered
        AND isNotNull(a.margin_ns)
        AND isNotNull(a.budget_ns)
        AND ({service:String} = '' OR service = {service:String})
        AND ({route:String} = '' OR route = {route:String})
        AND ({environment:String} = '' OR environment = {environment:String})
        AND ({version:String} = '' OR service_version = {version:String})
)
GROUP BY service, route, later, channel, payload_class, region
ORDER BY service, route, later, channel, payload_class, region
LIMIT {limit:UInt32}
