-- When did these traces begin and end? One row per trace whose times are kept: seconds since 1970, rounded down.
-- database, times  of the raw spans
-- ids  32 hexadecimal digits each, lower case, one after the other
-- The prefix (TraceId) of the sort key. Ids that stood in the statement themselves, 30,000 of them, would take seconds.
SELECT TraceId AS trace, toInt64(toUnixTimestamp(min(Start))) AS first, toInt64(toUnixTimestamp(max(End))) AS last
FROM {database:Identifier}.{times:Identifier}
WHERE TraceId IN (SELECT arrayJoin(extractAll({ids:String}, '.{32}')))
GROUP BY TraceId
