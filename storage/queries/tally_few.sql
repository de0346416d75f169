-- Are the hops of a window few, and all there? One row.
-- from, to  nanoseconds since 1970, from inclusive, to exclusive
-- exact     hops beyond which counting ends
-- hops and entries count rows, one that was written twice twice, and no more than one beyond exact; rolled counts the entries of whole days in
-- the tallies.
SELECT
    count() AS hops,
    countIf(entry) AS entries,
    (
        SELECT sum(seen)
        FROM tally_1d FINAL
        WHERE subject = 'entries' AND measure = 'request'
            AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND at + toIntervalDay(1) <= fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    ) AS rolled
FROM
(
    SELECT entry
    FROM hops
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    LIMIT {exact:UInt64} + 1
)
