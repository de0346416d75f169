-- Labels of what was blamed when the alert began to fire, a JSON object like labels. told names, divided by spaces, the webhooks that were
-- told that it fires and not yet that it ended.
ALTER TABLE alert_states ADD COLUMN IF NOT EXISTS blamed String AFTER labels
