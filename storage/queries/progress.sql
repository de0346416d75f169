-- How far has the worker come? One row per step: its watermark, nanoseconds since 1970.
SELECT
    step,
    at
FROM worker_progress FINAL
ORDER BY step
LIMIT 100
