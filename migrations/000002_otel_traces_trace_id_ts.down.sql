DROP TABLE IF EXISTS otel_traces_trace_id_ts
