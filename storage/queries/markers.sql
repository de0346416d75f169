-- Which markers are there? Newest first.
-- from, to              nanoseconds since 1970, from inclusive, to exclusive
-- service, environment  of a marker that names one, exact; '' means any. A marker that names none is about all of them.
-- id                    hexadecimal digits; '' means any. A marker asked for by id comes from any time and also when removed.
-- limit, skip           rows
-- Reads the whole table, which people fill.
SELECT
    lower(hex(id)) AS marker,
    toUnixTimestamp64Nano(at) AS time,
    title,
    text,
    url,
    service,
    environment,
    service_version,
    removed
FROM markers FINAL
WHERE ({id:String} = '' OR id = toFixedString(unhex({id:String}), 16))
    AND ({id:String} != '' OR (NOT removed AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')))
    AND ({service:String} = '' OR service IN ('', {service:String}))
    AND ({environment:String} = '' OR environment IN ('', {environment:String}))
ORDER BY at DESC, id
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
