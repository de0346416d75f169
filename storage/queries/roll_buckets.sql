-- Computes longer buckets anew from shorter ones. Groups that are in the table but no longer among the shorter buckets are taken
-- back.
-- target, source  tables of the longer and the shorter buckets
-- width           of the longer ones in nanoseconds
-- from, to        nanoseconds since 1970: they enclose the buckets
-- buckets         their starts, nanoseconds since 1970
-- version         of the rows that are written, nanoseconds since 1970
-- Reads the months of the buckets.
INSERT INTO {target:Identifier} (service, route, at, channel, payload_class, region, scheme, requests, represented, with_budget,
    answered, late, exhausted, margins, margins_below, margin_sum_ns, budgets, budget_sum_ns, duration_sum_ns, margin, used, budget,
    first_at, version, is_deleted)
SELECT
    service,
    route,
    fromUnixTimestamp64Nano(bucket, 'UTC') AS at,
    channel,
    payload_class,
    region,
    scheme,
    sumIf(s.requests, short) AS requests,
    sumIf(s.represented, short) AS represented,
    sumIf(s.with_budget, short) AS with_budget,
    sumIf(s.answered, short) AS answered,
    sumIf(s.late, short) AS late,
    sumIf(s.exhausted, short) AS exhausted,
    sumIf(s.margins, short) AS margins,
    sumIf(s.margins_below, short) AS margins_below,
    sumIf(s.margin_sum_ns, short) AS margin_sum_ns,
    sumIf(s.budgets, short) AS budgets,
    sumIf(s.budget_sum_ns, short) AS budget_sum_ns,
    sumIf(s.duration_sum_ns, short) AS duration_sum_ns,
    sumMapIf(s.margin, short) AS margin,
    sumMapIf(s.used, short) AS used,
    sumMapIf(s.budget, short) AS budget,
    min(s.first_at) AS first_at,
    {version:UInt64} AS version,
    requests = 0 AS is_deleted
FROM
(
    SELECT *, true AS short, toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % {width:Int64} AS bucket
    FROM {source:Identifier} FINAL
    WHERE at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND bucket IN {buckets:Array(Int64)}
    UNION ALL
    SELECT *, false AS short, toUnixTimestamp64Nano(at) AS bucket
    FROM {target:Identifier} FINAL
    WHERE at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND bucket IN {buckets:Array(Int64)}
) AS s
GROUP BY service, route, bucket, channel, payload_class, region, scheme
