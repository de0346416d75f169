-- When did these traces begin and end? One row per trace whose times are kept: seconds since 1970, rounded down.
-- database, times  of the raw spans
-- ids  hexadecimal digits, lower case
-- The prefix (TraceId) of the sort key. Ids that stood in the statement themselves, 30,000 of them, would take seconds.
SELECT TraceId AS trace, toInt64(toUnixTimestamp(min(Start))) AS first, toInt64(toUnixTimestamp(max(End))) AS last
FROM {database:Identifier}.{times:Identifier}
WHERE TraceId IN (SELECT arrayJoin({ids:Array(String)}))
GROUP BY TraceId
