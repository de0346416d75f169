-- Where does each alert stand? One row per alert and labels.
-- limit  rows
SELECT name, labels, blamed, toString(state), toUnixTimestamp64Nano(since), toUnixTimestamp64Nano(at), value, summary, statements, toString(told)
FROM alert_states FINAL
WHERE state IN ('pending', 'firing') OR told != '' OR at > now64(3) - toIntervalHour(1)
ORDER BY name, labels
LIMIT {limit:UInt32}
