-- When do clients leave, and had their budget ended by then? One row per stretch of waiting in which some left, the shortest
-- first; the last is open. Every row also carries the figures of all who left.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  of the entry, exact; '' means any
-- cause           why entries were cancelled; '' means client_disconnect
-- environment, version, outcome, late, margin_lt, margin_gt  of the entry, exact or exclusive nanoseconds; '' and NULL mean any
-- limit, skip     rows
-- Waiting lasts until the signal, else until the span ended. A stretch has the least length of a list of which 60 hold all but one
-- in 100. Cancelled entries are few: they are read without merging, and of a span that was written twice the newest row that fits
-- counts, unless it was taken back since.
WITH
    leaving AS
    (
        SELECT
            trace_id,
            argMax((ifNull(cancel_after_ns, duration_ns), budget_received_ns, weight, toUnixTimestamp64Nano(ts), is_deleted), version) AS newest,
            greatest(newest.1, 0) AS waited,
            newest.2 AS budget,
            newest.3 AS weighs,
            newest.4 AS began,
            toUInt64(greatest(round(weighs * 16), 1)) AS times
        FROM hops AS h
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND entry
            AND ({service:String} = '' OR service = {service:String})
            AND NOT has({not_service:Array(String)}, service)
            AND (is_deleted = 1
                OR (cancel_cause = if({cause:String} = '', 'client_disconnect', {cause:String})
                    AND ({route:String} = '' OR route = {route:String})
                    AND NOT has({not_route:Array(String)}, route)
                    AND ({environment:String} = '' OR environment = {environment:String})
                    AND ({version:String} = '' OR service_version = {version:String})
                    AND ({outcome:String} = '' OR outcome = {outcome:String})
                    AND (isNull({late:Nullable(Bool)}) OR ifNull(h.late, false) = {late:Nullable(Bool)})
                    AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
                    AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})))
        GROUP BY trace_id, span_id, service, kind
        HAVING newest.5 = 0
    ),
    (
        SELECT
        (
            sum(weighs),
            sumIf(weighs, isNotNull(budget)),
            sumIf(weighs, ifNull(waited < budget, false)),
            quantilesExactWeighted(0.5, 0.95, 0.99)(waited, times),
            quantileExactWeightedIf(0.5)(ifNull(budget, 0), times, isNotNull(budget)),
            count(budget)
        )
        FROM leaving
    ) AS figures,
    (n, step) -> n - n % step AS floored,
    arrayFilter(s -> intDiv(figures.4[3], s) < 60, arrayFlatten(arrayMap(e -> [1, 2, 5] * toInt64(intExp10(e)), range(5, 17)))) AS steps,
    if(empty(steps), toInt64(1e17), steps[1]) AS step,
    floored(figures.4[3], step) + step AS top
SELECT
    least(floored(waited, step), top) AS after,
    if(after >= top, NULL, after + step) AS up_to,
    toUInt64(round(sum(weighs))) AS left,
    toUInt64(round(sumIf(weighs, isNotNull(budget)))) AS with_budget,
    toUInt64(round(sumIf(weighs, ifNull(waited < budget, false)))) AS early,
    sum(sum(weighs)) OVER (ORDER BY after) / figures.1 AS gone,
    arrayMap(x -> lower(hex(x.2)), groupArraySorted(3)((-began, trace_id))) AS examples,
    toUInt64(round(figures.1)) AS all_left,
    toUInt64(round(figures.2)) AS all_with_budget,
    toUInt64(round(figures.3)) AS all_early,
    figures.4[1] AS p50,
    figures.4[2] AS p95,
    figures.5 AS budget_p50,
    figures.6 AS budgets
FROM leaving
GROUP BY after
ORDER BY after
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
