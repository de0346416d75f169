-- By how much do clocks differ? One row per stretch of time, caller and callee.
-- from, to  nanoseconds since 1970, of the begin of the stretch, both inclusive
-- limit     rows
-- The prefix (at) of the sort key.
SELECT toUnixTimestamp64Nano(toDateTime64(at, 9, 'UTC')) AS began, caller, callee, low_ns, high_ns, calls, agreeing
FROM offsets FINAL
WHERE at >= toDateTime(intDiv(least({from:Int64}, 4294960000000000000), 1000000000), 'UTC')
    AND at <= toDateTime(intDiv(least({to:Int64}, 4294960000000000000), 1000000000), 'UTC')
ORDER BY began, caller, callee
LIMIT {limit:UInt32}
