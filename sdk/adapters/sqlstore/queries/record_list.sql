-- A record and those below it, by key: '.' is the separator and '/' the character after it.
SELECT key, value, revision FROM laxity_records WHERE key = $1 OR (key >= $2 AND key < $3) ORDER BY key
