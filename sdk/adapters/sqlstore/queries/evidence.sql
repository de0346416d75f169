-- Late results of a key, oldest first.
SELECT at_us, result, text
FROM laxity_effect_evidence
WHERE key = $1
ORDER BY n
