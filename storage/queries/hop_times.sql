-- When did the hops of these traces begin? One row per trace that has any: the first and the last, nanoseconds since 1970. Hops
-- that were taken back count.
-- ids  32 hexadecimal digits each, one after the other
-- Reads trace_id and ts of all hops, so it is for many traces at once.
SELECT lower(hex(trace_id)) AS trace, toUnixTimestamp64Nano(min(ts)) AS first, toUnixTimestamp64Nano(max(ts)) AS last
FROM hops
WHERE trace_id IN (SELECT toFixedString(unhex(arrayJoin(extractAll({ids:String}, '.{32}'))), 16))
GROUP BY trace_id
