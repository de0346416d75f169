-- How many bytes has each table, without raw spans? One row per table.
SELECT table, sum(rows), sum(bytes_on_disk)
FROM system.parts
WHERE database = currentDatabase() AND active AND table NOT LIKE 'otel_traces%' AND rows > 0
GROUP BY table
ORDER BY sum(bytes_on_disk) DESC
