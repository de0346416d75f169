-- Adds a late result at the end of those of its key, or nothing if another took that place.
INSERT INTO laxity_effect_evidence (key, n, at_us, result, text)
SELECT $1, COALESCE(MAX(n), 0) + 1, $2, $3, $4
FROM laxity_effect_evidence
WHERE key = $5
ON CONFLICT (key, n) DO NOTHING
