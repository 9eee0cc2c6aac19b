-- Refresh tokens, by their hash. A used one is kept until it expires: its coming back is what betrays a theft.
CREATE TABLE macao_runtime.refresh_tokens (
    hash          bytea PRIMARY KEY CHECK (length(hash) = 32),
    session       text NOT NULL,
    player        text NOT NULL,
    scopes        text[] NOT NULL,
    expires_at_ms bigint NOT NULL,
    used          boolean NOT NULL DEFAULT false
);

CREATE INDEX refresh_tokens_session ON macao_runtime.refresh_tokens (session);
CREATE INDEX refresh_tokens_expiry ON macao_runtime.refresh_tokens (expires_at_ms);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_runtime.refresh_tokens TO macao_app;
