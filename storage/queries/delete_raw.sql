-- Deletes the raw spans of one trace.
-- id  hexadecimal digits, lower case
-- The bloom filter on TraceId.
DELETE FROM otel_traces WHERE TraceId = {id:String}
