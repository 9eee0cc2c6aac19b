-- What quick match looks for on the board: who has acted lately, where a seat is free, and which tables it fills.
ALTER TABLE macao_lobby.tables
    ADD COLUMN changed_at_ms   bigint NOT NULL DEFAULT 0,
    ADD COLUMN seats           integer NOT NULL DEFAULT 0,
    ADD COLUMN taken           integer NOT NULL DEFAULT 0,
    -- While quick match fills the table: how many players it needs, and since when it has them.
    ADD COLUMN quick_min       integer,
    ADD COLUMN enough_since_ms bigint;

CREATE INDEX tables_filling ON macao_lobby.tables (id) WHERE quick_min IS NOT NULL;
CREATE INDEX tables_joinable ON macao_lobby.tables (game, id)
    WHERE visibility = 'public' AND state = 'open' AND seats - taken = 1 AND quick_min IS NULL;

-- Seats of tables that quick match hands out. It runs ahead of the log: a seat is promised here before anybody sits on
-- it there. What is decided there holds; a promise that came to nothing is forgotten.
CREATE TABLE macao_lobby.quick_tables (
    id          text COLLATE "C" PRIMARY KEY,
    game        text NOT NULL,
    seats       integer NOT NULL,
    promised    integer NOT NULL,
    promised_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX quick_tables_free ON macao_lobby.quick_tables (game, id) WHERE promised < seats;

-- Which table a player was sent to, by the command that asked: a retry is sent to the same.
CREATE TABLE macao_lobby.quick_promises (
    command      text COLLATE "C" PRIMARY KEY,
    request_hash bytea NOT NULL,
    game         text NOT NULL,
    player       text NOT NULL,
    table_id     text COLLATE "C" NOT NULL,
    opens        boolean NOT NULL,
    promised_at  timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX quick_promises_player ON macao_lobby.quick_promises (player, game);
CREATE INDEX quick_promises_age ON macao_lobby.quick_promises (promised_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_lobby.quick_tables, macao_lobby.quick_promises TO macao_app;
