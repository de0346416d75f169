-- On which days do hops start? One row each, oldest first: its begin in nanoseconds since 1970.
SELECT DISTINCT toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % 86400000000000 AS day
FROM hops
ORDER BY day
LIMIT 100000
