-- Counts buckets of one subject anew from what its facts come from. Rows that are in the table but no longer among the facts are
-- taken back.
-- target    table of the buckets
-- subject   whose facts these are
-- width     of the buckets in nanoseconds
-- from, to  nanoseconds since 1970: they enclose the buckets
-- buckets   their starts, nanoseconds since 1970
-- hours     those of the buckets, near_hours those around them too
-- parts     in how many parts of the traces they are counted, part is the one that this is about
-- scheme    1, or of a part its own
-- version   of the rows that are written, nanoseconds since 1970
-- Reads the months of the buckets and an hour around them.
INSERT INTO {target:Identifier} (subject, measure, service, at, route, stage, peer, detail, scheme, seen, represented, total, most, last, spread, examples,
    first_at, version, is_deleted)
SELECT
    {subject:String} AS subject, measure, service, fromUnixTimestamp64Nano(bucket, 'UTC') AS at, route, stage, peer, detail, {scheme:UInt8} AS scheme,
    sumIf(f.seen, fact) AS seen, sumIf(f.represented, fact) AS represented, sumIf(f.total, fact) AS total, maxIf(f.most, fact) AS most,
    maxIf(f.last, fact) AS last, anyIf(f.spread, fact) AS spread, anyIf(f.examples, fact) AS examples,
    min(f.first_at) AS first_at, {version:UInt64} AS version, seen = 0 AS is_deleted
FROM
(
    SELECT measure, service, bucket, route, stage, peer, detail, seen, represented, total, most, last, spread, examples, true AS fact,
        fromUnixTimestamp64Milli(intDiv(toInt64({version:UInt64}), 1000000), 'UTC') AS first_at
    FROM
    (
@tally
    )
    UNION ALL
    SELECT measure, service, toUnixTimestamp64Nano(at) AS bucket, route, stage, peer, detail, seen, represented, total, most, last, spread, examples, false AS fact, first_at
    FROM {target:Identifier} FINAL
    WHERE subject = {subject:String}
        AND scheme = {scheme:UInt8}
        AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND bucket IN {buckets:Array(Int64)}
) AS f
GROUP BY measure, service, bucket, route, stage, peer, detail
