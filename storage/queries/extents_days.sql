-- On which days do rows start? One row each, oldest first: its begin in nanoseconds since 1970.
-- table  hops, verdicts, accounts or the times of raw spans
-- start  the column of the start
SELECT DISTINCT toInt64(toUnixTimestamp(toStartOfDay({start:Identifier}, 'UTC'))) * 1000000000 AS day
FROM {table:Identifier}
ORDER BY day
LIMIT 100000
SETTINGS max_rows_to_read = 0
