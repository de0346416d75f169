DROP TABLE IF EXISTS alert_history
