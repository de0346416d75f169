-- cancellations, from raw spans.
SELECT ServiceName, SpanAttributes['http.route'] AS route, SpanAttributes['deadline.cancel.cause'] AS cause, count(),
    quantilesExact(0.5, 0.95)(toFloat64OrZero(SpanAttributes['deadline.cancel.after'])), quantileExact(0.5)(toFloat64OrZero(SpanAttributes['deadline.budget.received']))
FROM otel_traces
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
    AND SpanKind = 'Server' AND SpanAttributes['deadline.cancel.cause'] != ''
GROUP BY ServiceName, route, cause
