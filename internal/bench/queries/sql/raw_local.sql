-- local, from raw spans.
SELECT ServiceName, SpanAttributes['http.route'] AS route, count(), quantileExact(0.5)(toFloat64(SpanAttributes['deadline.local.before_first_call'])) AS local,
    quantileExact(0.5)(toFloat64(SpanAttributes['deadline.local.before_first_call']) / toFloat64(SpanAttributes['deadline.budget.received']))
FROM otel_traces
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
    AND SpanKind = 'Server' AND SpanAttributes['deadline.local.before_first_call'] != ''
GROUP BY ServiceName, route
