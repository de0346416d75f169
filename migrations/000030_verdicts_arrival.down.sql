ALTER TABLE verdicts
    DROP INDEX IF EXISTS idx_ingested_at
