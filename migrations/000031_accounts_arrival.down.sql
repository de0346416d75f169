ALTER TABLE accounts
    DROP INDEX IF EXISTS idx_ingested_at
