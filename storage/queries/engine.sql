-- Which ClickHouse is this, and what time does it have? One row; nanoseconds since 1970.
SELECT
    version() AS version,
    toUnixTimestamp64Nano(now64(9)) AS now
