-- Which versions of services showed for the first time? Newest first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- before                where looking for earlier versions begins
-- service, environment  exact; '' means any
-- limit                 rows
-- A version is new if another one of its service and environment was seen before it. Reads the months of the window; with a
-- service, the prefix (service) of the sort key.
SELECT service, environment, service_version, first
FROM
(
    SELECT service, environment, service_version, min(toUnixTimestamp64Nano(ts)) AS first, min(first) OVER (PARTITION BY service, environment) AS oldest
    FROM hops
    WHERE ts >= fromUnixTimestamp64Nano({before:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND is_deleted = 0
        AND service_version != ''
        AND ({service:String} = '' OR service = {service:String})
        AND ({environment:String} = '' OR environment = {environment:String})
    GROUP BY service, environment, service_version
)
WHERE first > oldest AND first >= {from:Int64}
ORDER BY first DESC, service, environment, service_version
LIMIT {limit:UInt32}
