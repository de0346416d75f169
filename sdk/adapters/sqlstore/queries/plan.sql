-- Stores a planned effect unless its key is taken.
INSERT INTO laxity_effects (key, operation, unit, payload, fingerprint, state, version, sends, planned_us, sent_us, settled_us, not_after_us, changed_us, result, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
ON CONFLICT (key) DO NOTHING
