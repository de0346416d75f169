-- Effects on other systems, one row for each idempotency key. Instants are microseconds since 1970, 0 where there is none.
CREATE TABLE laxity_effects (
    key         TEXT PRIMARY KEY,
    operation   TEXT NOT NULL,
    unit        TEXT NOT NULL,
    payload     BYTEA,
    fingerprint TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('planned', 'sent', 'confirmed', 'uncertain', 'reconciled', 'abandoned')),
    version     BIGINT NOT NULL,
    sends       BIGINT NOT NULL,
    planned_us  BIGINT NOT NULL,
    sent_us     BIGINT NOT NULL,
    settled_us  BIGINT NOT NULL,
    not_after_us BIGINT NOT NULL,
    changed_us  BIGINT NOT NULL,
    result      BYTEA,
    reason      TEXT NOT NULL
);
-- What is not settled, oldest first: few rows of many.
CREATE INDEX laxity_effects_unsettled ON laxity_effects (changed_us) WHERE state IN ('planned', 'sent', 'uncertain');
-- Late results, which change nothing.
CREATE TABLE laxity_effect_evidence (
    key    TEXT NOT NULL REFERENCES laxity_effects (key),
    n      BIGINT NOT NULL,
    at_us  BIGINT NOT NULL,
    result BYTEA,
    text   TEXT NOT NULL,
    PRIMARY KEY (key, n)
);
