-- The accounts of the traces that show best what a firing alert speaks of, as people are told them: a JSON list.
ALTER TABLE alert_states ADD COLUMN IF NOT EXISTS statements String AFTER summary
