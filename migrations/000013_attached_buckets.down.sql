DROP TABLE IF EXISTS attached_buckets
