-- Which table of raw spans that somebody else owns is attached? At most one row.
SELECT
    source_database,
    source_table,
    budget_from,
    since
FROM attached FINAL
WHERE name = 'otel_traces'
LIMIT 1
