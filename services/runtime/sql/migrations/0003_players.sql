-- Who plays. Names live here and nowhere in the log, so that a player can be forgotten and the log stays.
CREATE TABLE macao_runtime.players (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('guest', 'account', 'bot')),
    created_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_runtime.players TO macao_app;
