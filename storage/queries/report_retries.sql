-- What do retries bring? One row per service, stage, peer and layer, the most wasted time first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- service, stage, peer  exact; '' means any
-- environment, version  of the hop, exact; '' means any
-- limit, skip           rows
-- Each attempt is a hop of its own; a call has one first attempt. A retry is wasted if time cut it. Reads the months of the
-- window; with a service, the prefix (service) of the sort key.
WITH
    ifNull(attempt, 1) AS number,
    number > 1 AND cancel_cause IN ('local_deadline', 'upstream_deadline', 'expiry') AS in_vain
SELECT
    service,
    if(stage = '', name, stage) AS place,
    peer,
    attempt_layer,
    toUInt64(round(sumIf(weight, number <= 1))) AS calls,
    toUInt64(round(sum(weight))) AS attempts,
    if(countIf(number <= 1) = 0, NULL, sum(weight) / sumIf(weight, number <= 1)) AS attempts_per_call,
    toInt64(round(sum(weight * ifNull(retries_skipped, 0)))) AS skipped,
    mapApply((k, v) -> (k, toInt64(round(v))), sumMap(if(ifNull(retries_skipped, 0) = 0, CAST(map(), 'Map(String, Float64)'),
        map(if(retries_skipped_reason = '', 'unnamed', toString(retries_skipped_reason)), weight * assumeNotNull(retries_skipped))))) AS reasons,
    toUInt64(round(sumIf(weight, in_vain))) AS wasted,
    toInt64(round(sumIf(weight * duration_ns, in_vain))) AS wasted_time
FROM hops FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND NOT entry
    AND (isNotNull(attempt) OR ifNull(retries_skipped, 0) > 0)
    AND ({service:String} = '' OR service = {service:String})
    AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
    AND ({peer:String} = '' OR peer = {peer:String})
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({version:String} = '' OR service_version = {version:String})
GROUP BY service, place, peer, attempt_layer
ORDER BY wasted_time DESC, attempts_per_call DESC NULLS LAST, skipped DESC, service, place, peer, attempt_layer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
