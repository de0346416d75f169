-- Moves an effect on if nobody else has: from the state and the version it was read with.
UPDATE laxity_effects
SET state = $1, version = version + 1, sends = $2, sent_us = $3, settled_us = $4, changed_us = $5, result = $6, reason = $7
WHERE key = $8 AND version = $9 AND state = $10
