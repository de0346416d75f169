-- Can a window be answered from hops alone, and cheaply? One row.
-- from, to  nanoseconds since 1970, from inclusive, to exclusive
-- hops and entries count rows, one that was written twice twice; rolled counts the requests of whole hours in the rollup.
SELECT
    (SELECT count() FROM hops WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')) AS hops,
    (SELECT count() FROM hops WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') AND entry) AS entries,
    (
        SELECT sum(requests)
        FROM rollup_1h FINAL
        WHERE at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND at + toIntervalHour(1) <= fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    ) AS rolled
