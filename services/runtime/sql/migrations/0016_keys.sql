-- Secrets that the service draws once and keeps encrypted. What follows from them (invitation codes, the bots' chance) stays
-- the same when the key that encrypts is replaced.
CREATE TABLE macao_runtime.secrets (
    name       text COLLATE "C" PRIMARY KEY,
    sealed     bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT, INSERT ON macao_runtime.secrets TO macao_app;

COMMENT ON COLUMN macao_runtime.signing_keys.created_at IS
    'Since when the key signs; the newest of its purpose does. One that is to follow has a time that is still to come.';
