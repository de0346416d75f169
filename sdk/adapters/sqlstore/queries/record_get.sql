-- One record by its key.
SELECT key, value, revision FROM laxity_records WHERE key = $1
