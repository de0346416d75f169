DROP TABLE IF EXISTS alert_leases
