-- Of which stretches have hops to be counted anew? One row each: its start in nanoseconds since 1970, and how many hops of it arrived, or
-- where none did belong to what arrived: calls to an entry of their service, a call to its callee, a callee to its call, within an hour.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- width     of a stretch in nanoseconds
-- frozen    milliseconds since 1970: hours that were computed first before this are left out, because hops they were made of may be gone
-- limit     rows
-- The index on ingested_at; of what belongs, the hours around what arrived.
WITH arrived AS
(
    SELECT cityHash64(trace_id) AS trace, cityHash64(trace_id, service) AS request, cityHash64(trace_id, span_id) AS span,
        cityHash64(trace_id, parent_span_id) AS parent, kind, entry, ts, toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} AS stretch
    FROM hops
    WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
        AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
)
SELECT began - began % {width:Int64} AS stretch, count() AS hops
FROM
(
    SELECT toUnixTimestamp64Nano(ts) AS began FROM arrived
    UNION ALL
    SELECT toUnixTimestamp64Nano(ts) AS began
    FROM hops
    WHERE toStartOfHour(ts) IN (SELECT arrayJoin([toStartOfHour(ts) - toIntervalHour(1), toStartOfHour(ts), toStartOfHour(ts) + toIntervalHour(1)]) FROM arrived)
        AND toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} NOT IN (SELECT stretch FROM arrived)
        AND cityHash64(trace_id) IN (SELECT trace FROM arrived)
        AND (NOT entry AND cityHash64(trace_id, service) IN (SELECT request FROM arrived WHERE entry)
            OR kind IN ('Client', 'Producer') AND cityHash64(trace_id, span_id) IN (SELECT parent FROM arrived WHERE kind IN ('Server', 'Consumer'))
            OR kind IN ('Server', 'Consumer') AND cityHash64(trace_id, parent_span_id) IN (SELECT span FROM arrived WHERE kind IN ('Client', 'Producer')))
)
WHERE began - began % 3600000000000 NOT IN (
        SELECT DISTINCT toUnixTimestamp64Nano(at) FROM tally_1h WHERE subject = 'services' AND first_at < fromUnixTimestamp64Milli({frozen:Int64}, 'UTC')
    )
GROUP BY stretch
ORDER BY stretch
LIMIT {limit:UInt32}
