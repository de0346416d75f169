-- Which accounts are kept of these traces? Their keys only.
-- ids       32 hexadecimal digits each, one after the other
-- from, to  nanoseconds since 1970, both inclusive, around the starts of their entries
-- The indexes on ts and, for few traces, on trace_id.
SELECT service, route, toUnixTimestamp64Nano(ts) AS at, lower(hex(trace_id)) AS trace, lower(hex(span_id)) AS span, kind
FROM accounts FINAL
WHERE trace_id IN (SELECT toFixedString(unhex(arrayJoin(extractAll({ids:String}, '.{32}'))), 16))
    AND ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts <= fromUnixTimestamp64Nano({to:Int64}, 'UTC')
LIMIT 10000000
SETTINGS optimize_move_to_prewhere_if_final = 1
