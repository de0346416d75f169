-- attempts: what retries bring. detail is the layer that made the attempt.
-- first, retry     count attempts
-- wasted           length of a retry that time cut
-- skipped.REASON   how many retries were skipped
SELECT if(name = 'skipped', concat('skipped.', if(reason = '', 'unnamed', reason)), name) AS measure, service, at AS ts, '' AS route, stage, peer, detail, weight,
    assumeNotNull(amount) AS value, false AS spreads, false AS exemplary, false AS dated, trace_id
FROM
(
    SELECT
        service, toUnixTimestamp64Nano(ts) AS at, if(stage = '', name, stage) AS stage, peer, attempt_layer AS detail, weight, trace_id,
        retries_skipped_reason AS reason, ifNull(attempt, 1) AS number,
        [
            if(number <= 1, 0., NULL),
            if(number > 1, 0., NULL),
            if(number > 1 AND cancel_cause IN ('local_deadline', 'upstream_deadline', 'expiry'), toFloat64(duration_ns), NULL),
            if(retries_skipped > 0, toFloat64(retries_skipped), NULL)
        ] AS amounts
    FROM hops AS h FINAL
    WHERE @when AND NOT entry AND (isNotNull(attempt) OR ifNull(retries_skipped, 0) > 0)
)
ARRAY JOIN
    arrayFilter((name, amount) -> isNotNull(amount), CAST(['first', 'retry', 'wasted', 'skipped'], 'Array(LowCardinality(String))'), amounts) AS name,
    arrayFilter(amount -> isNotNull(amount), amounts) AS amount
