-- findings: the findings of traces. measure is the rule, detail the cause; what follows a colon in the measure is no rule.
-- RULE         the span and its amount, with examples
-- RULE:traces  counts traces, at the first such finding of each within an hour
SELECT if(name = 'traces', concat(rule, ':traces'), rule) AS measure, service, at AS ts, route, stage, peer, detail, weight, value, false AS spreads,
    name = 'span' AS exemplary, name = 'span' AS dated, trace_id
FROM
(
    SELECT
        rule, service, toUnixTimestamp64Nano(ts) AS at, route, stage, peer, cause AS detail, weight, toFloat64(ifNull(amount_ns, 0)) AS value, trace_id,
        min(at) OVER (PARTITION BY trace_id, rule, service, stage, peer) AS began,
        row_number() OVER (PARTITION BY trace_id, rule, service, stage, peer ORDER BY ts, span_id, kind) = 1 AS leads,
        @when AS due
    FROM verdicts FINAL
    WHERE @near
)
ARRAY JOIN if(leads, ['span', 'traces'], ['span']) AS name
WHERE due
