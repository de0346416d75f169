-- Effects that are not settled and were last changed before an instant, oldest first; by the partial index.
SELECT key, operation, unit, payload, fingerprint, state, version, sends, planned_us, sent_us, settled_us, not_after_us, changed_us, result, reason
FROM laxity_effects
WHERE state IN ('planned', 'sent', 'uncertain') AND changed_us < $1
ORDER BY changed_us, key
LIMIT $2
