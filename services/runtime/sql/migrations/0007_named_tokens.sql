-- Long-lived tokens that players made for their programs. The token itself is signed and stored nowhere.
CREATE TABLE macao_runtime.named_tokens (
    id            text COLLATE "C" PRIMARY KEY,
    player        text COLLATE "C" NOT NULL REFERENCES macao_runtime.players (id) ON DELETE CASCADE,
    name          text NOT NULL,
    scopes        text[] NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL
);

CREATE INDEX named_tokens_player ON macao_runtime.named_tokens (player, id);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_runtime.named_tokens TO macao_app;
