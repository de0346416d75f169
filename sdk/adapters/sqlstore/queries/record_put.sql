-- Replaces a record if its revision is still the one it was read with.
UPDATE laxity_records SET value = $1, revision = revision + 1 WHERE key = $2 AND revision = $3
