-- Computes minutes anew from their hops, each once. Groups that are in the table but no longer among the hops are taken back.
-- from, to  nanoseconds since 1970: they enclose the minutes
-- minutes   their starts, nanoseconds since 1970
-- version   of the rows that are written, nanoseconds since 1970
-- Reads the months of the minutes.
INSERT INTO rollup_1m (service, route, at, channel, payload_class, region, scheme, requests, represented, with_budget, answered,
    late, exhausted, margins, margins_below, margin_sum_ns, budgets, budget_sum_ns, duration_sum_ns, margin, used, budget, first_at,
    version, is_deleted)
WITH
    n -> toInt16(if(n = 0, 0, sign(n) * (1 + floor(16 * log2(abs(n)))))) AS bucket
SELECT
    service,
    route,
    fromUnixTimestamp64Nano(minute, 'UTC') AS at,
    channel,
    payload_class,
    region,
    1 AS scheme,
    countIf(hop) AS requests,
    sumIf(weight, hop) AS represented,
    sumIf(weight, budgeted) AS with_budget,
    sumIf(weight, answers) AS answered,
    sumIf(weight, answers AND budgeted AND was_late) AS late,
    sumIf(weight, ended AND budgeted) AS exhausted,
    countIf(measured) AS margins,
    sumIf(weight, measured AND margin_value < 0) AS margins_below,
    sumIf(toInt128(round(margin_value * weight)), measured) AS margin_sum_ns,
    countIf(granted) AS budgets,
    sumIf(toInt128(round(received * weight)), granted) AS budget_sum_ns,
    sumIf(toInt128(round(duration * weight)), hop) AS duration_sum_ns,
    sumMapIf(map(bucket(margin_value), weight), measured) AS margin,
    sumMapIf(map(bucket((received - margin_value) / greatest(received, 1) * 1e9), weight), measured AND received > 0) AS used,
    sumMapIf(map(bucket(received), weight), granted) AS budget,
    min(first) AS first_at,
    {version:UInt64} AS version,
    requests = 0 AS is_deleted
FROM
(
    SELECT
        service,
        route,
        toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % 60000000000 AS minute,
        channel,
        payload_class,
        region,
        true AS hop,
        weight,
        ifNull(budget_received_ns, 0) AS received,
        isNotNull(budget_received_ns) AS granted,
        -- A request that was refused for lack of time may have been granted nothing, but it did ask.
        granted OR (exhausted AND isNotNull(budget_requested_ns)) AS budgeted,
        answered AS answers,
        exhausted AS ended,
        ifNull(late, false) AS was_late,
        answered AND granted AND isNotNull(margin_ns) AS measured,
        ifNull(margin_ns, 0) AS margin_value,
        duration_ns AS duration,
        fromUnixTimestamp64Milli(intDiv(toInt64({version:UInt64}), 1000000), 'UTC') AS first
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND entry
        AND minute IN {minutes:Array(Int64)}
    UNION ALL
    SELECT
        service, route, toUnixTimestamp64Nano(at) AS minute, channel, payload_class, region, false AS hop, 0. AS weight,
        toInt64(0) AS received, false AS granted, false AS budgeted, false AS answers, false AS ended, false AS was_late,
        false AS measured, toInt64(0) AS margin_value, toInt64(0) AS duration, first_at AS first
    FROM rollup_1m FINAL
    WHERE at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND minute IN {minutes:Array(Int64)}
)
GROUP BY service, route, minute, channel, payload_class, region
