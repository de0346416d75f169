-- Puts the parts together in which buckets of a subject were counted, and takes the parts back.
-- target    table of the buckets
-- subject   whose buckets these are
-- from, to  nanoseconds since 1970: they enclose the buckets
-- buckets   their starts, nanoseconds since 1970
-- version   of the rows that are written, nanoseconds since 1970; the parts have the one before
-- Reads the subject in the months of the buckets.
INSERT INTO {target:Identifier} (subject, measure, service, at, route, stage, peer, detail, scheme, seen, represented, total, most, last, spread, examples,
    first_at, version, is_deleted)
WITH @kept
SELECT
    {subject:String} AS subject, measure, service, at, route, stage, peer, detail,
    arrayJoin(arrayDistinct(arrayPushBack(groupUniqArray(p.scheme), 1))) AS scheme,
    sumIf(p.seen, counted) AS seen, kept(sumKahanIf(p.represented, counted)) AS represented, kept(sumKahanIf(p.total, counted)) AS total,
    maxIf(p.most, counted) AS most, maxIf(p.last, counted) AS last, sumMapIf(p.spread, counted) AS spread,
    groupArraySortedArrayIf(6)(p.examples, counted) AS examples,
    min(p.first_at) AS first_at, {version:UInt64} AS version, scheme != 1 OR seen = 0 AS is_deleted
FROM
(
    SELECT *, scheme != 1 AND version + 1 = {version:UInt64} AS counted
    FROM {target:Identifier} FINAL
    WHERE subject = {subject:String}
        AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND toUnixTimestamp64Nano(at) IN {buckets:Array(Int64)}
) AS p
GROUP BY measure, service, at, route, stage, peer, detail
