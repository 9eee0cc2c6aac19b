-- Which player the subject of an OpenID Connect issuer is.
CREATE TABLE macao_runtime.external_identities (
    issuer  text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    player  text COLLATE "C" NOT NULL UNIQUE REFERENCES macao_runtime.players (id) ON DELETE CASCADE
            DEFERRABLE INITIALLY DEFERRED,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (issuer, subject)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_runtime.external_identities TO macao_app;
