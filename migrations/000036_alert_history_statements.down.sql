ALTER TABLE alert_history DROP COLUMN IF EXISTS statements
