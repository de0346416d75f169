-- Which migration was applied last, and did it finish? One row, or none.
SELECT
    toInt64(version) AS version,
    dirty != 0 AS unfinished
FROM schema_migrations
ORDER BY sequence DESC
LIMIT 1
