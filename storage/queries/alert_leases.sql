-- Which processes may evaluate alerts? The one claimed first is first; ended leases follow.
-- limit  rows
SELECT holder, toUnixTimestamp64Nano(claimed), toUnixTimestamp64Nano(until), toUnixTimestamp64Nano(evaluated), problem, toUnixTimestamp64Nano(now64(9))
FROM alert_leases FINAL
ORDER BY until <= now64(3), claimed, holder
LIMIT {limit:UInt32}
