-- How did the margins of each route differ between two windows? One row per route.
-- from, to        of the later window, nanoseconds since 1970, from inclusive, to exclusive
-- before, until   of the earlier one
-- service, route, environment, version  exact; '' means any
-- limit           rows
-- The accounts of both windows; with a service and route, the prefix of the sort key.
WITH
    ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') AS now,
    ts >= fromUnixTimestamp64Nano({before:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({until:Int64}, 'UTC') AS then,
    answered AND isNotNull(margin_ns) AS measured,
    toUInt64(greatest(round(weight * 16), 1)) AS times
SELECT
    service,
    route,
    toUInt64(round(sumIf(weight, now AND isNotNull(budget_ns)))) AS with_budget,
    countIf(now AND measured) AS seen,
    toUInt64(round(sumIf(weight, now AND isNotNull(budget_ns) AND (exhausted OR (answered AND late))))) AS missed,
    quantileExactWeightedIf(0.05)(ifNull(margin_ns, 0), times, now AND measured) AS p05,
    quantileExactWeightedIf(0.5)(ifNull(margin_ns, 0), times, now AND measured) AS p50,
    quantileExactWeightedIf(0.5)(ifNull(budget_ns, 0), times, now AND isNotNull(budget_ns)) AS budget_p50,
    (sumIf(weight * pow(assumeNotNull(margin_ns) / 1e9, 2), now AND measured) - pow(sumIf(weight * assumeNotNull(margin_ns) / 1e9, now AND measured), 2) / sumIf(weight, now AND measured))
        / sumIf(weight, now AND measured) * countIf(now AND measured) / (countIf(now AND measured) - 1) AS variance,
    toUInt64(round(sumIf(weight, then AND isNotNull(budget_ns)))) AS with_budget_before,
    countIf(then AND measured) AS seen_before,
    toUInt64(round(sumIf(weight, then AND isNotNull(budget_ns) AND (exhausted OR (answered AND late))))) AS missed_before,
    quantileExactWeightedIf(0.05)(ifNull(margin_ns, 0), times, then AND measured) AS p05_before,
    quantileExactWeightedIf(0.5)(ifNull(margin_ns, 0), times, then AND measured) AS p50_before,
    quantileExactWeightedIf(0.5)(ifNull(budget_ns, 0), times, then AND isNotNull(budget_ns)) AS budget_p50_before,
    (sumIf(weight * pow(assumeNotNull(margin_ns) / 1e9, 2), then AND measured) - pow(sumIf(weight * assumeNotNull(margin_ns) / 1e9, then AND measured), 2) / sumIf(weight, then AND measured))
        / sumIf(weight, then AND measured) * countIf(then AND measured) / (countIf(then AND measured) - 1) AS variance_before
FROM accounts FINAL
WHERE (now OR then)
    AND ts >= fromUnixTimestamp64Nano(least({from:Int64}, {before:Int64}), 'UTC')
    AND ts < fromUnixTimestamp64Nano(greatest({to:Int64}, {until:Int64}), 'UTC')
    AND ({service:String} = '' OR service = {service:String})
    AND ({route:String} = '' OR route = {route:String})
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({version:String} = '' OR service_version = {version:String})
GROUP BY service, route
HAVING with_budget > 0 OR with_budget_before > 0
ORDER BY with_budget + with_budget_before DESC, service, route
LIMIT {limit:UInt32}
