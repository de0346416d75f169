DROP TABLE IF EXISTS trace_extents
