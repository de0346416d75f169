-- What report_dependencies.sql tells of its window, from rollups. One row per caller, peer, stage and class of what was measured.
-- class  whole is a call that was not cut, cut one that was; the others are measures
-- slots  how many lie in which bucket of the spread
-- order_of, shown  traces to show, and what they are ordered by
SELECT
    service, peer, stage,
    if(startsWith(measure, 'call.'), if(detail = '', 'whole', 'cut'), toString(measure)) AS class,
    toUInt64(round(sum(represented))) AS represents,
    sum(seen) AS times,
    sumMap(spread) AS slots,
    max(last) AS latest,
    arrayMap(x -> x.1, groupArraySortedArrayIf(12)(examples, startsWith(measure, 'call.'))) AS order_of,
    arrayMap(x -> lower(hex(x.2)), groupArraySortedArrayIf(12)(examples, startsWith(measure, 'call.'))) AS shown
FROM
@tally(calls) AS t
WHERE (startsWith(measure, 'call.') OR measure IN ('allowance', 'between', 'fresh', 'reused'))
    AND ({stage:String} = '' OR stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, stage)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
GROUP BY service, peer, stage, class
LIMIT {limit:UInt32}
