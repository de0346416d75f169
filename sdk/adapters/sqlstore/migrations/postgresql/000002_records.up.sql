-- Records changed by compare and swap: units of work, cancellations, approvals.
CREATE TABLE laxity_records (
    key      TEXT COLLATE "C" PRIMARY KEY,
    value    BYTEA NOT NULL,
    revision BIGINT NOT NULL
);
