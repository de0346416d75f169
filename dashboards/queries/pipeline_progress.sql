-- How far has the worker come?
SELECT step, fromUnixTimestamp64Nano(at, 'UTC') AS watermark, (toUnixTimestamp64Nano(now64(9)) - at) / 1e9 AS lag_s
FROM worker_progress FINAL
ORDER BY step
LIMIT 100
