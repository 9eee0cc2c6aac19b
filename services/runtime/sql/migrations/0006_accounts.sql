-- A guest that adds a credential becomes an account: the same row, the same id. An account's name is its own:
-- what other accounts may not be called is kept in the form in which look-alikes are equal.
ALTER TABLE macao_runtime.players ADD COLUMN account_name text COLLATE "C" UNIQUE;

CREATE TABLE macao_runtime.credentials (
    player        text COLLATE "C" PRIMARY KEY REFERENCES macao_runtime.players (id) ON DELETE CASCADE,
    password_hash text NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_runtime.credentials TO macao_app;
