DROP TABLE IF EXISTS alert_states
