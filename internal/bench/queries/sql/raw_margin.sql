-- margin, from raw spans.
SELECT ServiceName, SpanAttributes['http.route'] AS route, count(), countIf(SpanAttributes['deadline.late'] = 'true'),
    countIf(SpanAttributes['deadline.cancel.cause'] = 'local_deadline'),
    quantilesExactIf(0.05, 0.5, 0.95)(toFloat64OrZero(SpanAttributes['deadline.margin']), SpanAttributes['deadline.outcome'] = 'done'),
    quantileExact(0.5)(toFloat64OrZero(SpanAttributes['deadline.used.ratio'])), quantileExact(0.5)(toFloat64OrZero(SpanAttributes['deadline.budget.received']))
FROM otel_traces
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
    AND SpanKind = 'Server' AND SpanAttributes['deadline.budget.received'] != ''
GROUP BY ServiceName, route
