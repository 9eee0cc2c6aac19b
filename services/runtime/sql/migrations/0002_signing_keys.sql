-- The keys that sign tokens and records. The public half is published to every service by this very table;
-- the private half is encrypted under the installation's secret key.
CREATE TABLE macao_runtime.signing_keys (
    kid         text PRIMARY KEY,
    purpose     text NOT NULL CHECK (purpose IN ('token', 'record')),
    public_key  bytea NOT NULL CHECK (length(public_key) = 32),
    private_key bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT, INSERT ON macao_runtime.signing_keys TO macao_app;
