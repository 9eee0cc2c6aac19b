-- Sessions and tokens that are over before the tokens issued for them have expired. Every process holds all of
-- them in memory; a row goes when nothing that it refuses can be valid any more.
CREATE TABLE macao_runtime.revocations (
    id            text COLLATE "C" PRIMARY KEY,
    expires_at_ms bigint NOT NULL,
    revoked_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX revocations_age ON macao_runtime.revocations (revoked_at);
CREATE INDEX revocations_expiry ON macao_runtime.revocations (expires_at_ms);

-- To end all sessions of one player. What a session may do is read anew with every refresh (grants).
ALTER TABLE macao_runtime.refresh_tokens DROP COLUMN scopes;
CREATE INDEX refresh_tokens_player ON macao_runtime.refresh_tokens (player);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_runtime.revocations TO macao_app;
