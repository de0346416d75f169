-- How many spans the span of a finding stands for.
ALTER TABLE verdicts
    ADD COLUMN IF NOT EXISTS weight Float64 DEFAULT 1 AFTER inferred
