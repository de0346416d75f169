-- services, from raw spans.
SELECT ServiceName, countIf(SpanKind = 'Server'), countIf(SpanAttributes['deadline.budget.received'] != ''), max(Timestamp),
    groupUniqArray(100)(SpanAttributes['http.route']), groupUniqArray(100)(SpanAttributes['deadline.stage']), groupUniqArray(100)(SpanAttributes['peer.service'])
FROM otel_traces
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
GROUP BY ServiceName
