-- Creates a record unless its key is taken.
INSERT INTO laxity_records (key, value, revision) VALUES ($1, $2, 1) ON CONFLICT (key) DO NOTHING
