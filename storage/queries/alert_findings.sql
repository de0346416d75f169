-- How much orphan work and how many renewed clocks were found, in several windows at once? One row per service, stage, cause and rule;
-- orphan seconds and findings are arrays with one value for each window.
-- begins, ends  of the windows, seconds since 1970, of the start of the span, begin inclusive, end exclusive
-- from, to      enclose the windows
-- limit         rows
-- The index on ts.
WITH
    toUnixTimestamp64Nano(ts) / 1e9 AS t,
    arrayMap((b, e) -> toFloat64(t >= b AND t < e), {begins:Array(Int64)}, {ends:Array(Int64)}) AS inside
SELECT
    service,
    stage,
    cause,
    rule,
    sumForEach(arrayMap(x -> x * weight * ifNull(amount_ns, 0) / 1e9, inside)) AS seconds,
    sumForEach(arrayMap(x -> x * weight, inside)) AS findings
FROM verdicts FINAL
WHERE ts >= toDateTime64({from:Int64}, 9, 'UTC')
    AND ts < toDateTime64({to:Int64}, 9, 'UTC')
    AND rule IN ('orphan_work', 'renewed_clock', 'dropped_header')
GROUP BY service, stage, cause, rule
ORDER BY service, stage, cause, rule
LIMIT {limit:UInt32}
