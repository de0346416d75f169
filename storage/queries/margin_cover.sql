-- Can a window be answered from hops alone, and cheaply? One row.
-- from, to  nanoseconds since 1970, from inclusive, to exclusive
-- exact     hops beyond which it cannot
-- hops and entries count rows, one that was written twice twice, and no more than one beyond exact, so that a long window costs no more;
-- rolled counts the requests of whole hours in the rollup.
SELECT
    count() AS hops,
    countIf(entry) AS entries,
    (
        SELECT sum(requests)
        FROM rollup_1h FINAL
        WHERE at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND at + toIntervalHour(1) <= fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    ) AS rolled
FROM
(
    SELECT entry
    FROM hops
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    LIMIT {exact:UInt64} + 1
)
