ALTER TABLE alert_states DROP COLUMN IF EXISTS statements
