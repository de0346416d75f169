-- What a finding needs to be summed: why the caller's wait ended, and which finding of the same rule already counts it.
ALTER TABLE verdicts
    ADD COLUMN IF NOT EXISTS cause LowCardinality(String) AFTER evidence,
    ADD COLUMN IF NOT EXISTS included_in FixedString(8) AFTER cause
