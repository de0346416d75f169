-- Which buckets of the rollups are not what their sources hold? One row per bucket: 1 for minutes, 2 for hours, 3 for days, and its
-- start in nanoseconds since 1970.
-- from, to     nanoseconds since 1970, start of spans, from inclusive, to exclusive
-- minutes      watermark of the minutes: nanoseconds since 1970, of arrival
-- hours, days  watermarks of hours and days: versions of the shorter rollup
-- limit        rows of each
-- The indexes on ingested_at and version.
SELECT toUInt8(1) AS level, toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % 60000000000 AS bucket
FROM hops
WHERE ingested_at >= fromUnixTimestamp64Milli(intDiv({minutes:Int64}, 1000000), 'UTC')
    AND ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
GROUP BY bucket
LIMIT {limit:UInt32}
UNION ALL
SELECT toUInt8(2) AS level, toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % 3600000000000 AS bucket
FROM rollup_1m
WHERE version > {hours:UInt64}
    AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
GROUP BY bucket
LIMIT {limit:UInt32}
UNION ALL
SELECT toUInt8(3) AS level, toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % 86400000000000 AS bucket
FROM rollup_1h
WHERE version > {days:UInt64}
    AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
GROUP BY bucket
LIMIT {limit:UInt32}
