-- Between which times do the spans of these traces start, as far as they were judged? One row per trace that was: the last 8 bytes of its
-- id as a number, the first and the last, nanoseconds since 1970.
-- ids  32 hexadecimal digits each, one after the other
-- The sort key, a granule per trace.
SELECT trace, min(first_ns) AS first, max(last_ns) AS last
FROM trace_extents
WHERE trace IN (SELECT reinterpretAsUInt64(unhex(substring(arrayJoin(extractAll({ids:String}, '.{32}')), 17))))
GROUP BY trace
LIMIT 10000000
