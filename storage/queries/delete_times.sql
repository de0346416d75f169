-- Deletes the times of one trace.
-- id  hexadecimal digits, lower case
DELETE FROM otel_traces_trace_id_ts WHERE TraceId = {id:String}
