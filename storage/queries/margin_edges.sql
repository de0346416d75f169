    SELECT
        service,
        route,
        if({bucket:Int64} = 0, 0, toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {bucket:Int64}) AS start,
        count() AS requests,
        sum(weight) AS represented,
        sumIf(weight, isNotNull(budget_received_ns) OR (h.exhausted AND isNotNull(budget_requested_ns))) AS with_budget,
        sumIf(weight, h.answered) AS answered,
        sumIf(weight, h.answered AND (isNotNull(budget_received_ns) OR (h.exhausted AND isNotNull(budget_requested_ns))) AND ifNull(h.late, false)) AS late,
        sumIf(weight, h.exhausted AND (isNotNull(budget_received_ns) OR isNotNull(budget_requested_ns))) AS exhausted,
        countIf(h.answered AND isNotNull(budget_received_ns) AND isNotNull(margin_ns)) AS margins,
        countIf(isNotNull(budget_received_ns)) AS budgets,
        sumMapIf(map(slot(ifNull(margin_ns, 0)), weight), h.answered AND isNotNull(budget_received_ns) AND isNotNull(margin_ns)) AS margin,
        sumMapIf(map(slot((ifNull(budget_received_ns, 0) - ifNull(margin_ns, 0)) / greatest(ifNull(budget_received_ns, 0), 1) * 1e9), weight),
            h.answered AND isNotNull(margin_ns) AND ifNull(budget_received_ns, 0) > 0) AS used,
        sumMapIf(map(slot(ifNull(budget_received_ns, 0)), weight), isNotNull(budget_received_ns)) AS budget
    FROM hops AS h FINAL
    WHERE ((ts >= fromUnixTimestamp64Nano({edge_0:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({edge_1:Int64}, 'UTC'))
            OR (ts >= fromUnixTimestamp64Nano({edge_2:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({edge_3:Int64}, 'UTC'))
            OR (ts >= fromUnixTimestamp64Nano({dirty_0:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({dirty_1:Int64}, 'UTC')
                AND toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % 60000000000 IN {dirty_minutes:Array(Int64)}))
        AND entry
        AND ({service:String} = '' OR service = {service:String})
        AND ({route:String} = '' OR route = {route:String})
    GROUP BY service, route, start
