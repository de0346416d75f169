-- report_orphans.sql from rollups, without what a service's own time is compared with.
SELECT
    service, stage, peer, detail AS cause,
    toUInt64(round(sumIf(represented, measure = 'orphan_work'))) AS spans,
    toInt64(round(sumIf(total, measure = 'orphan_work'))) AS orphan,
    toInt64(round(sumIf(total, measure = 'work'))) AS post_cancel,
    toUInt64(round(sumIf(represented, measure = 'still_running'))) AS still_running,
    sumMapIf(map(substring(measure, 6), total), startsWith(measure, 'cost.')) AS costs,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), arrayPartialSort(24, arrayFlatten(groupArray(examples))))), 1, 3) AS shown
FROM
(
    SELECT toString(measure) AS measure, service, stage, peer, detail, represented, total, examples
    FROM
@tally(findings) AS f
    WHERE measure IN ('orphan_work', 'still_running')
    UNION ALL
    SELECT toString(measure) AS measure, service, stage, peer, detail, represented, total, examples
    FROM
@tally(stops) AS s
)
WHERE ({stage:String} = '' OR stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, stage)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
    AND ({cause:String} = '' OR detail = {cause:String})
    AND NOT has({not_cause:Array(String)}, detail)
GROUP BY service, stage, peer, cause
ORDER BY orphan DESC, post_cancel DESC, still_running DESC, service, stage, peer, cause
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
