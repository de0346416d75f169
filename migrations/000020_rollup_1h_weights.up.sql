-- Sampled requests count as many as they stand for: requests, margins and budgets count the requests themselves, everything else
-- counts and sums what they represent.
ALTER TABLE rollup_1h
    MODIFY COLUMN with_budget Float64,
    MODIFY COLUMN answered Float64,
    MODIFY COLUMN late Float64,
    MODIFY COLUMN exhausted Float64,
    MODIFY COLUMN margins_below Float64,
    MODIFY COLUMN margin Map(Int16, Float64),
    MODIFY COLUMN used Map(Int16, Float64),
    MODIFY COLUMN budget Map(Int16, Float64)
