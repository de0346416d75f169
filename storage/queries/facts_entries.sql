-- entries: what becomes of requests. detail is the cause of a cancellation.
-- request     counts entries; the value is their length
-- local       work before the first call, share its share of the budget in billionths, queue the wait in a queue
-- confirmed   counts cancellations that were confirmed; patience is how long clients waited that left
-- budget      that was received; budget.ended of requests that were answered or exhausted
-- spent       of answered requests; exhausted counts those that ran out of time
SELECT name AS measure, service, at AS ts, route, '' AS stage, '' AS peer, detail, weight, assumeNotNull(amount) AS value,
    name NOT IN ('request', 'confirmed', 'exhausted') AS spreads, false AS exemplary, false AS dated, trace_id
FROM
(
    SELECT
        service, toUnixTimestamp64Nano(ts) AS at, route, cancel_cause AS detail, weight, trace_id,
        [
            toNullable(toFloat64(duration_ns)),
            toFloat64(local_before_first_call_ns),
            if(budget_received_ns > 0, round(local_before_first_call_ns / budget_received_ns * 1e9), NULL),
            toFloat64(queue_time_ns),
            if(cancel_cause != '' AND ifNull(cancel_confirmed, false), 0., NULL),
            if(cancel_cause IN ('client_disconnect', 'upstream_cancel'), toFloat64(ifNull(cancel_after_ns, duration_ns)), NULL),
            if(answered OR exhausted, NULL, toFloat64(budget_received_ns)),
            if(answered OR exhausted, toFloat64(budget_received_ns), NULL),
            if(answered AND NOT exhausted, toFloat64(ifNull(budget_received_ns - margin_ns, duration_ns)), NULL),
            if(exhausted, 0., NULL)
        ] AS amounts
    FROM hops FINAL
    WHERE @when AND entry
)
ARRAY JOIN
    arrayFilter((name, amount) -> isNotNull(amount), CAST(['request', 'local', 'share', 'queue', 'confirmed', 'patience', 'budget', 'budget.ended', 'spent', 'exhausted'], 'Array(LowCardinality(String))'), amounts) AS name,
    arrayFilter(amount -> isNotNull(amount), amounts) AS amount
