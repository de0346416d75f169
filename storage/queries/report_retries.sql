-- What do retries bring? One row per service, stage, peer and layer, the most wasted time first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- service, stage, peer  exact; '' means any
-- environment, version  of the hop, exact; '' means any
-- limit, skip           rows
-- Each attempt is a hop of its own; a call has one first attempt. Where a layer labels only its retries, the calls of its place that
-- nobody labels are the first attempts. A retry is wasted if time cut it. Reads the months of the window; with a service, the prefix (service) of the sort key.
SELECT
    service,
    place,
    peer,
    layer,
    toUInt64(round(if(firsts > 0, firsts, unlabelled))) AS calls,
    toUInt64(round(labelled + if(firsts > 0, 0, unlabelled))) AS attempts,
    if(firsts > 0, labelled / firsts, if(unlabelled > 0, (labelled + unlabelled) / unlabelled, NULL)) AS attempts_per_call,
    toInt64(round(all_skipped)) AS skipped,
    mapApply((k, v) -> (k, toInt64(round(v))), all_reasons) AS reasons,
    toUInt64(round(in_vain)) AS wasted,
    toInt64(round(in_vain_time)) AS wasted_time
FROM
(
    WITH
        isNotNull(attempt) OR ifNull(retries_skipped, 0) > 0 AS tells,
        ifNull(attempt, 1) AS number,
        number > 1 AND cancel_cause IN ('local_deadline', 'upstream_deadline', 'expiry') AS vain
    SELECT
        service,
        if(stage = '', name, stage) AS place,
        peer,
        attempt_layer AS layer,
        sumIf(weight, tells) AS labelled,
        sumIf(weight, tells AND number <= 1) AS firsts,
        greatest(sum(sumIf(weight, kind IN ('Client', 'Producer') AND decision IN ('', 'run')) - labelled) OVER (PARTITION BY service, place, peer), 0) AS unlabelled,
        sum(weight * ifNull(retries_skipped, 0)) AS all_skipped,
        sumMap(if(ifNull(retries_skipped, 0) = 0, CAST(map(), 'Map(String, Float64)'),
            map(if(retries_skipped_reason = '', 'unnamed', toString(retries_skipped_reason)), weight * assumeNotNull(retries_skipped)))) AS all_reasons,
        sumIf(weight, vain) AS in_vain,
        sumIf(weight * duration_ns, vain) AS in_vain_time
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND NOT entry
        AND (kind IN ('Client', 'Producer') OR isNotNull(attempt) OR ifNull(retries_skipped, 0) > 0)
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
        AND NOT has({not_stage:Array(String)}, if(stage = '', name, stage))
        AND ({peer:String} = '' OR peer = {peer:String})
        AND NOT has({not_peer:Array(String)}, peer)
        AND ({environment:String} = '' OR environment = {environment:String})
        AND ({version:String} = '' OR service_version = {version:String})
    GROUP BY service, place, peer, layer
)
WHERE labelled > 0
ORDER BY wasted_time DESC, attempts_per_call DESC NULLS LAST, skipped DESC, service, place, peer, layer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
