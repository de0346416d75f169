ALTER TABLE rollup_1m
    MODIFY COLUMN with_budget UInt64,
    MODIFY COLUMN answered UInt64,
    MODIFY COLUMN late UInt64,
    MODIFY COLUMN exhausted UInt64,
    MODIFY COLUMN margins_below UInt64,
    MODIFY COLUMN margin Map(Int16, UInt64),
    MODIFY COLUMN used Map(Int16, UInt64),
    MODIFY COLUMN budget Map(Int16, UInt64)
