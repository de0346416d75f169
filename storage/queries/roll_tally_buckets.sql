-- Counts longer buckets of some subjects anew from shorter ones. Rows that are in the table but no longer among the shorter buckets are
-- taken back.
-- target, source  tables of the longer and the shorter buckets
-- subjects        whose buckets these are
-- width           of the longer ones in nanoseconds
-- from, to        nanoseconds since 1970: they enclose the buckets
-- buckets         their starts, nanoseconds since 1970
-- version         of the rows that are written, nanoseconds since 1970
-- Reads the subjects in the months of the buckets.
INSERT INTO {target:Identifier} (subject, measure, service, at, route, stage, peer, detail, scheme, seen, represented, total, most, last, spread, examples,
    first_at, version, is_deleted)
WITH @kept
SELECT
    subject, measure, service, fromUnixTimestamp64Nano(bucket, 'UTC') AS at, route, stage, peer, detail, scheme,
    sumIf(s.seen, short) AS seen, kept(sumKahanIf(s.represented, short)) AS represented, kept(sumKahanIf(s.total, short)) AS total, maxIf(s.most, short) AS most,
    maxIf(s.last, short) AS last, sumMapIf(s.spread, short) AS spread,
    groupArraySortedArrayIf(6)(s.examples, short) AS examples,
    min(s.first_at) AS first_at, {version:UInt64} AS version, seen = 0 AS is_deleted
FROM
(
    SELECT *, true AS short, toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % {width:Int64} AS bucket
    FROM {source:Identifier} FINAL
    WHERE subject IN {subjects:Array(String)}
        AND scheme = 1
        AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND bucket IN {buckets:Array(Int64)}
    UNION ALL
    SELECT *, false AS short, toUnixTimestamp64Nano(at) AS bucket
    FROM {target:Identifier} FINAL
    WHERE subject IN {subjects:Array(String)}
        AND scheme = 1
        AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND bucket IN {buckets:Array(Int64)}
) AS s
GROUP BY subject, measure, service, bucket, route, stage, peer, detail, scheme
