-- report_retries.sql from rollups.
SELECT
    service, stage, peer, layer,
    toUInt64(round(if(firsts > 0, firsts, unlabelled))) AS calls,
    toUInt64(round(labelled + if(firsts > 0, 0, unlabelled))) AS attempts,
    if(firsts > 0, labelled / firsts, if(unlabelled > 0, (labelled + unlabelled) / unlabelled, NULL)) AS attempts_per_call,
    toInt64(round(all_skipped)) AS skipped,
    mapApply((k, v) -> (k, toInt64(round(v))), all_reasons) AS reasons,
    toUInt64(round(in_vain)) AS wasted,
    toInt64(round(in_vain_time)) AS wasted_time
FROM
(
    SELECT r.*, greatest(c.ran - sum(r.labelled) OVER (PARTITION BY r.service, r.stage, r.peer), 0) AS unlabelled
    FROM
    (
        SELECT
            service, stage, peer, detail AS layer,
            sumIf(represented, measure IN ('first', 'retry')) AS labelled,
            sumIf(represented, measure = 'first') AS firsts,
            sumIf(total, startsWith(measure, 'skipped.')) AS all_skipped,
            sumMapIf(map(substring(measure, 9), total), startsWith(measure, 'skipped.')) AS all_reasons,
            sumIf(represented, measure = 'wasted') AS in_vain,
            sumIf(total, measure = 'wasted') AS in_vain_time
        FROM
@tally(attempts) AS t
        WHERE ({stage:String} = '' OR stage = {stage:String})
            AND NOT has({not_stage:Array(String)}, stage)
            AND ({peer:String} = '' OR peer = {peer:String})
            AND NOT has({not_peer:Array(String)}, peer)
        GROUP BY service, stage, peer, layer
    ) AS r
    LEFT JOIN
    (
        SELECT service, stage, peer, sum(represented) AS ran
        FROM
@tally(calls) AS t
        WHERE startsWith(measure, 'call.')
        GROUP BY service, stage, peer
    ) AS c ON c.service = r.service AND c.stage = r.stage AND c.peer = r.peer
)
ORDER BY wasted_time DESC, attempts_per_call DESC NULLS LAST, skipped DESC, service, stage, peer, layer
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
