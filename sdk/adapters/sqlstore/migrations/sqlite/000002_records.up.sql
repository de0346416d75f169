-- Records changed by compare and swap: units of work, cancellations, approvals.
CREATE TABLE laxity_records (
    key      TEXT PRIMARY KEY,
    value    BLOB NOT NULL,
    revision INTEGER NOT NULL
);
