DROP TABLE IF EXISTS alert_minutes
