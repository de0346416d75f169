-- report_orphans.sql from rollups.
SELECT
    found.service AS service, found.stage AS stage, found.peer AS peer, found.detail AS cause,
    toUInt64(round(sumIf(found.represented, measure = 'orphan_work'))) AS spans,
    toInt64(round(sumIf(found.total, measure = 'orphan_work'))) AS orphan,
    toInt64(round(sumIf(found.total, measure = 'work'))) AS post_cancel,
    toUInt64(round(sumIf(found.represented, measure = 'still_running'))) AS still_running,
    if(any(busy.time) > 0, orphan / any(busy.time), NULL) AS share_of_busy,
    sumMapIf(map(substring(found.measure, 6), found.total), startsWith(found.measure, 'cost.')) AS costs,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), arrayPartialSort(24, arrayFlatten(groupArray(found.examples))))), 1, 3) AS shown
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
) AS found
LEFT JOIN
(
    SELECT service, sum(total) AS time
    FROM
@tally(entries) AS e
    WHERE measure = 'request'
    GROUP BY service
) AS busy ON busy.service = found.service
WHERE ({stage:String} = '' OR found.stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, found.stage)
    AND ({peer:String} = '' OR found.peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, found.peer)
    AND ({cause:String} = '' OR found.detail = {cause:String})
    AND NOT has({not_cause:Array(String)}, found.detail)
GROUP BY service, stage, peer, cause
ORDER BY orphan DESC, post_cancel DESC, still_running DESC, service, stage, peer, cause
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
