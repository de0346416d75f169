-- Which columns has a table? One row per column: its name and type.
-- database, table  the table
SELECT
    name,
    type
FROM system.columns
WHERE database = {database:String} AND table = {table:String}
ORDER BY position
LIMIT 1000
