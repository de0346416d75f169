-- How are the requests of a window spread over time and over what they had left, or took? One row per cell that has requests,
-- oldest first, then by its bounds upwards.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- measure         'margin': answered requests with a budget by their margin; 'duration': all by how long they took
-- bucket          width of a cell in time, nanoseconds; cells start at multiples of it since 1970
-- service, route, environment, version, outcome, rule  of the account, exact; '' means any
-- late            NULL means any
-- margin_lt, margin_gt  nanoseconds, exclusive; NULL means any
-- limit, skip     rows
-- The height of cells is the least of a list that needs no more than 14 for all but one in 200 on each side; the outermost rows
-- are open. Zero is always a bound. Accounts: with a service and route, the prefix of the sort key, else the index on ts.
WITH
    chosen AS
    (
        SELECT
            toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {bucket:Int64} AS at,
            if({measure:String} = 'margin', ifNull(margin_ns, 0), duration_ns) AS value,
            weight,
            late,
            exhausted,
            trace_id
        FROM accounts AS a FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND ({measure:String} = 'duration' OR (answered AND isNotNull(margin_ns)))
            AND ({service:String} = '' OR service = {service:String})
            AND NOT has({not_service:Array(String)}, service)
            AND ({route:String} = '' OR route = {route:String})
            AND NOT has({not_route:Array(String)}, route)
            AND ({environment:String} = '' OR environment = {environment:String})
            AND ({version:String} = '' OR service_version = {version:String})
            AND ({outcome:String} = '' OR outcome = {outcome:String})
            AND ({rule:String} = '' OR has(rules, {rule:String}))
            AND NOT hasAny({not_rule:Array(String)}, rules)
            AND (isNull({late:Nullable(Bool)}) OR a.late = {late:Nullable(Bool)})
            AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
            AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
    ),
    (SELECT quantilesTDigest(0.005, 0.995)(value) FROM chosen) AS ends,
    (value, step) -> value - positiveModulo(value, step) AS floored,
    least(toInt64(ifNotFinite(ends[1], 0)), 0) AS least_value,
    greatest(toInt64(ifNotFinite(ends[2], 0)), 0) AS most_value,
    arrayFilter(s -> intDiv(floored(most_value, s) - floored(least_value, s), s) < 14, arrayFlatten(arrayMap(e -> [1, 2, 5] * toInt64(intExp10(e)), range(5, 17)))) AS steps,
    if(empty(steps), toInt64(1e17), steps[1]) AS step,
    floored(least_value, step) AS bottom,
    floored(most_value, step) + step AS top
SELECT
    at,
    if(floored(value, step) < bottom, NULL, least(floored(value, step), top)) AS low,
    if(floored(value, step) >= top, NULL, greatest(floored(value, step) + step, bottom)) AS high,
    toUInt64(round(sum(weight))) AS requests,
    count() AS seen,
    toUInt64(round(sumIf(weight, late OR exhausted))) AS missed,
    arrayMap(x -> lower(hex(x.2)), groupArraySorted(3)((if({measure:String} = 'margin', value, -value), trace_id))) AS examples
FROM chosen
GROUP BY at, low, high
ORDER BY at, low NULLS FIRST
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
