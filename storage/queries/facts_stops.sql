-- stops: work after a cancellation. stage is the stage or the name, detail the cause.
-- work       time after the signal, with examples
-- cost.UNIT  what it cost
SELECT if(name = 'cost', concat('cost.', if(cost_unit = '', 'unit', cost_unit)), 'work') AS measure, service, at AS ts, '' AS route, stage, peer, detail, weight,
    assumeNotNull(amount) AS value, false AS spreads, name = 'work' AS exemplary, false AS dated, trace_id
FROM
(
    SELECT service, toUnixTimestamp64Nano(ts) AS at, if(stage = '', name, stage) AS stage, if(entry, '', peer) AS peer, cancel_cause AS detail, weight, trace_id, cost_unit,
        [toNullable(toFloat64(ifNull(post_cancel_time_ns, 0))), post_cancel_cost] AS amounts
    FROM hops AS h FINAL
    WHERE @when AND (post_cancel_time_ns > 0 OR post_cancel_cost > 0)
)
ARRAY JOIN
    arrayFilter((name, amount) -> isNotNull(amount), CAST(['work', 'cost'], 'Array(LowCardinality(String))'), amounts) AS name,
    arrayFilter(amount -> isNotNull(amount), amounts) AS amount
