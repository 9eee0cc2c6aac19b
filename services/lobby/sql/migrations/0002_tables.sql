-- The board: one row a table, filled by the subscription `lobby-tables`.
CREATE TABLE macao_lobby.tables (
    id           text COLLATE "C" PRIMARY KEY,
    game         text NOT NULL,
    state        text NOT NULL CHECK (state IN ('open', 'playing', 'closed')),
    visibility   text NOT NULL CHECK (visibility IN ('public', 'private')),
    version      bigint NOT NULL,
    -- The match that was requested and not yet finished: the engine is still to be asked ('requested'), it has
    -- begun, or it is over and the table is to be opened again.
    match        text COLLATE "C",
    match_state  text CHECK (match_state IN ('requested', 'begun', 'over')),
    requested_at timestamptz,
    document     bytea NOT NULL
);

CREATE INDEX tables_listed ON macao_lobby.tables (state, id DESC) WHERE visibility = 'public';
CREATE INDEX tables_listed_by_game ON macao_lobby.tables (game, state, id DESC) WHERE visibility = 'public';
CREATE UNIQUE INDEX tables_match ON macao_lobby.tables (match) WHERE match IS NOT NULL;
CREATE INDEX tables_outstanding ON macao_lobby.tables (requested_at) WHERE match_state IN ('requested', 'over');

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_lobby.tables TO macao_app;
