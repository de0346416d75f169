-- Finds what was judged since.
ALTER TABLE verdicts
    ADD INDEX IF NOT EXISTS idx_ingested_at ingested_at TYPE minmax GRANULARITY 1
