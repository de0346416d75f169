-- How much is stored?
SELECT table, sum(rows) AS stored_rows, sum(bytes_on_disk) AS stored_bytes, min(modification_time) AS oldest_part, count() AS parts
FROM system.parts
WHERE active AND database = currentDatabase()
GROUP BY table
ORDER BY stored_bytes DESC, table
LIMIT 100
