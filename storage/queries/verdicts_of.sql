-- Which findings are kept of these traces?
-- ids  32 hexadecimal digits each, one after the other
-- The prefix (trace_id) of the sort key.
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    service,
    kind,
    rule,
    toUnixTimestamp64Nano(ts) AS at,
    severity,
    lower(hex(entry_span_id)) AS entry,
    entry_service,
    route,
    stage,
    peer,
    ifNull(amount_ns, 0) AS amount,
    evidence,
    cause,
    lower(hex(included_in)) AS inside,
    inferred,
    weight,
    text
FROM verdicts FINAL
WHERE trace_id IN (SELECT toFixedString(unhex(arrayJoin(extractAll({ids:String}, '.{32}'))), 16))
LIMIT 10000000
SETTINGS optimize_move_to_prewhere_if_final = 1
