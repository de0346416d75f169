-- One effect by its key.
SELECT key, operation, unit, payload, fingerprint, state, version, sends, planned_us, sent_us, settled_us, not_after_us, changed_us, result, reason
FROM laxity_effects
WHERE key = $1
