-- Which changes of alerts were there? Newest first.
-- from, to     nanoseconds since 1970, from inclusive, to exclusive
-- name         exact; '' means any
-- limit, skip  rows
-- The sort key's prefix at.
SELECT toUnixTimestamp64Nano(at) AS time, name, labels, toString(state), value, summary, statements
FROM alert_history
WHERE at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND ({name:String} = '' OR name = {name:String})
ORDER BY at DESC, name, labels
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
