-- The days of the trends of margins, from raw spans.
SELECT ServiceName, SpanAttributes['http.route'] AS route, toDate(Timestamp) AS day, count(),
    quantileExactIf(0.05)(toFloat64OrZero(SpanAttributes['deadline.margin']), SpanAttributes['deadline.outcome'] = 'done')
FROM otel_traces
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
    AND SpanKind = 'Server' AND SpanAttributes['deadline.budget.received'] != ''
GROUP BY ServiceName, route, day
