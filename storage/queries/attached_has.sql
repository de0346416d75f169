-- How many spans of one trace does a table of raw spans hold?
-- database, table  the table
-- id               hexadecimal digits, lower case
-- The bloom filter on TraceId.
SELECT count() AS spans
FROM {database:Identifier}.{table:Identifier}
WHERE TraceId = {id:String}
LIMIT 1
