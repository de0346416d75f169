-- report_findings.sql from rollups.
WITH splitByChar(':', toString(measure)) AS parts
SELECT
    parts[1] AS rule,
    service, stage, peer,
    toUInt64(round(sumIf(represented, parts[2] = ''))) AS spans,
    toUInt64(round(sumIf(represented, parts[2] = 'traces'))) AS traces,
    toInt64(round(sumIf(total, parts[2] = ''))) AS amount,
    max(last) AS last_seen,
    arraySlice(arrayDistinct(arrayMap(x -> lower(hex(x.2)), arrayPartialSort(24, arrayFlatten(groupArray(examples))))), 1, 3) AS shown
FROM
@tally(findings) AS t
WHERE ({rule:String} = '' OR measure IN ({rule:String}, concat({rule:String}, ':traces')))
    AND NOT has({not_rule:Array(String)}, parts[1])
    AND ({stage:String} = '' OR stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, stage)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
    AND ({cause:String} = '' OR detail = {cause:String})
    AND NOT has({not_cause:Array(String)}, detail)
    AND ({route:String} = '' OR route = {route:String})
    AND NOT has({not_route:Array(String)}, route)
GROUP BY rule, service, stage, peer
ORDER BY traces DESC, amount DESC, rule, service, stage, peer
LIMIT {limit:UInt32}
