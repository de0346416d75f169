-- The same for each change to firing, and for the end of what fired.
ALTER TABLE alert_history ADD COLUMN IF NOT EXISTS statements String AFTER summary
