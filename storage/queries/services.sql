-- Which services were seen, and what may be filtered by? One row per service.
-- from, to     nanoseconds since 1970, from inclusive, to exclusive
-- service      exact; '' means any
-- limit, skip  rows
-- Reads the months of the window; with a service, the prefix (service) of the sort key. Each list is cut at 100.
SELECT
    service,
    countIf(entry) AS requests,
    countIf(entry AND isNotNull(budget_received_ns)) AS with_budget,
    max(toUnixTimestamp64Nano(ts)) AS last_seen,
    arraySort(groupUniqArrayIf(100)(toString(route), entry AND route != '')) AS routes,
    arraySort(groupUniqArrayIf(100)(toString(stage), stage != '')) AS stages,
    arraySort(groupUniqArrayIf(100)(toString(peer), peer != '')) AS peers
FROM hops FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND ({service:String} = '' OR service = {service:String})
GROUP BY service
ORDER BY service
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
