-- Effects on other systems, one row for each idempotency key. Instants are microseconds since 1970, 0 where there is none.
CREATE TABLE laxity_effects (
    key         TEXT PRIMARY KEY,
    operation   TEXT NOT NULL,
    unit        TEXT NOT NULL,
    payload     BLOB,
    fingerprint TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('planned', 'sent', 'confirmed', 'uncertain', 'reconciled', 'abandoned')),
    version     INTEGER NOT NULL,
    sends       INTEGER NOT NULL,
    planned_us  INTEGER NOT NULL,
    sent_us     INTEGER NOT NULL,
    settled_us  INTEGER NOT NULL,
    not_after_us INTEGER NOT NULL,
    changed_us  INTEGER NOT NULL,
    result      BLOB,
    reason      TEXT NOT NULL
);
-- What is not settled, oldest first: few rows of many.
CREATE INDEX laxity_effects_unsettled ON laxity_effects (changed_us) WHERE state IN ('planned', 'sent', 'uncertain');
-- Late results, which change nothing.
CREATE TABLE laxity_effect_evidence (
    key    TEXT NOT NULL REFERENCES laxity_effects (key),
    n      INTEGER NOT NULL,
    at_us  INTEGER NOT NULL,
    result BLOB,
    text   TEXT NOT NULL,
    PRIMARY KEY (key, n)
);
