-- The answers to writes that leave no event (a new guest, a refreshed token), so that a retry gets the first
-- one. They hold tokens: encrypted, and kept for a day.
CREATE TABLE macao_runtime.answers (
    command       text COLLATE "C" PRIMARY KEY,
    request_hash  bytea NOT NULL,
    answer        bytea NOT NULL,
    expires_at_ms bigint NOT NULL
);

CREATE INDEX answers_expiry ON macao_runtime.answers (expires_at_ms);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_runtime.answers TO macao_app;
