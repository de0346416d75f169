-- How long do the calls of each edge last? One row per caller, address and operation with at least five calls, those with most
-- calls first: buckets of lengths 0.1 % wide and their counts; and of the rows, in which a call may stand twice, how many there
-- are and how many lengths are whole seconds, tenths, hundredths and thousandths of them.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- limit     rows
-- A bucket is the floor of the logarithm to base 1.001 of nanoseconds, as limit.Bucket computes it; all below 1 ms share one.
-- Calls of which the sdk recorded how long they may take, and those ended from above, tell of no hidden limit. The index on
-- ingested_at.
SELECT
    service,
    peer,
    place,
    groupArray(bucket) AS buckets,
    groupArray(n) AS counts,
    sum(written) AS all_written,
    sum(seconds) AS on_seconds,
    sum(tenths) AS on_tenths,
    sum(hundredths) AS on_hundredths,
    sum(thousandths) AS on_thousandths
FROM
(
    SELECT
        service,
        peer,
        if(stage = '', name, stage) AS place,
        toInt32(floor(log(greatest(duration_ns, 1000000)) / log(1.001))) AS bucket,
        uniq(trace_id, span_id) AS n,
        count() AS written,
        countIf(duration_ns % 1000000000 = 0) AS seconds,
        countIf(duration_ns % 100000000 = 0) AS tenths,
        countIf(duration_ns % 10000000 = 0) AS hundredths,
        countIf(duration_ns % 1000000 = 0) AS thousandths
    FROM hops
    WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
        AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        AND kind = 'Client'
        AND is_deleted = 0
        AND duration_ns > 0
        AND isNull(allowance_ns)
        AND isNull(remaining_before_ns)
        AND cancel_cause IN ('', 'local_deadline', 'stream_idle')
    GROUP BY service, peer, place, bucket
)
GROUP BY service, peer, place
HAVING sum(n) >= 5
ORDER BY sum(n) DESC, service, peer, place
LIMIT {limit:UInt32}
