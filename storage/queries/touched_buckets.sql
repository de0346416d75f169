-- Which longer buckets hold rows that were written since? One row per bucket: its start in nanoseconds since 1970.
-- source  table of the shorter buckets
-- since   version, exclusive
-- width   of the longer buckets in nanoseconds
-- limit   rows
-- The index on version.
SELECT toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % {width:Int64} AS bucket
FROM {source:Identifier}
WHERE version > {since:UInt64}
GROUP BY bucket
ORDER BY bucket
LIMIT {limit:UInt32}
