DROP TABLE IF EXISTS worker_progress
