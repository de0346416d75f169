-- Over which cluster are the raw spans distributed? No row on a single server.
SELECT extract(engine_full, '^Distributed\\(\'([^\']+)\'') AS cluster
FROM system.tables
WHERE database = currentDatabase() AND name = 'otel_traces' AND engine = 'Distributed'
LIMIT 1
