-- Finds what was judged since.
ALTER TABLE accounts
    ADD INDEX IF NOT EXISTS idx_ingested_at ingested_at TYPE minmax GRANULARITY 1
