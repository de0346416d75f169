-- Which silences are there? Those that ended a week ago or later, newest first.
-- now    nanoseconds since 1970
-- limit  rows
SELECT lower(hex(id)), matchers, toUnixTimestamp64Nano(since), toUnixTimestamp64Nano(until), comment
FROM silences FINAL
WHERE until > fromUnixTimestamp64Nano({now:Int64}, 'UTC') - toIntervalDay(7)
ORDER BY since DESC, id
LIMIT {limit:UInt32}
