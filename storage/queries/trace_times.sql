-- When did these traces begin and end? One row; traces is 0 where the times are not kept.
-- database, times  of the raw spans
-- ids  hexadecimal digits, lower case
-- The prefix (TraceId) of the sort key.
SELECT
    uniqExact(TraceId) AS traces,
    toUnixTimestamp(min(Start)) AS first,
    toUnixTimestamp(max(End)) AS last
FROM {database:Identifier}.{times:Identifier}
WHERE TraceId IN ({ids:Array(String)})
