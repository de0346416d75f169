-- Takes the hops of one trace back: rows that hold nothing but the key replace them.
-- id  hexadecimal digits
-- The bloom filter on trace_id.
INSERT INTO hops (service, kind, name, ts, trace_id, span_id, entry, is_deleted)
SELECT service, kind, name, ts, trace_id, span_id, entry, 1 AS is_deleted
FROM hops FINAL
WHERE trace_id = toFixedString(unhex({id:String}), 16)
