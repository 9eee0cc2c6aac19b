-- The history of matches (services/projections/history/fold.py).
CREATE TABLE macao_projections.history (
    match_id         text COLLATE "C" NOT NULL,
    table_id         text COLLATE "C" NOT NULL,
    game             text COLLATE "C" NOT NULL,
    players          text[] NOT NULL,
    bots             text[] NOT NULL,
    rated            boolean NOT NULL,
    visibility       text COLLATE "C" NOT NULL,
    started_position bigint NOT NULL,
    started_at_ms    bigint NOT NULL,
    rounds_won       integer[] NOT NULL,
    rounds           integer NOT NULL,
    eliminated       integer[] NOT NULL,
    status           text COLLATE "C" NOT NULL,
    places           integer[],
    ended_at_ms      bigint,
    CONSTRAINT history_pkey PRIMARY KEY (match_id),
    CONSTRAINT history_visibility_is_known CHECK (visibility IN ('public', 'private')),
    CONSTRAINT history_status_is_known CHECK (status IN ('running', 'ended', 'voided'))
) WITH (fillfactor = 80);

COMMENT ON TABLE macao_projections.history IS 'One row a match that was started. Arrays are by seat, but for eliminated, which holds seats.';
COMMENT ON COLUMN macao_projections.history.bots IS 'The level of the bot; NULL for a person.';

-- Who sat where, so that the matches of a player are found newest first. Bots have no history.
CREATE TABLE macao_projections.history_seats (
    started_position bigint NOT NULL,
    seat             integer NOT NULL,
    player           text COLLATE "C" NOT NULL,
    match_id         text COLLATE "C" NOT NULL,
    CONSTRAINT history_seats_pkey PRIMARY KEY (player, started_position, seat)
);

COMMENT ON TABLE macao_projections.history_seats IS 'One row a match and person in it.';

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_projections.history, macao_projections.history_seats TO macao_app;
