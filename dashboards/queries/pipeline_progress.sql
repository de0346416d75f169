-- How far has the worker come? What is done once is left out.
SELECT step, fromUnixTimestamp64Nano(at, 'UTC') AS watermark, (toUnixTimestamp64Nano(now64(9)) - at) / 1e9 AS lag_s
FROM worker_progress FINAL
WHERE NOT startsWith(step, 'extents')
ORDER BY step
LIMIT 100
