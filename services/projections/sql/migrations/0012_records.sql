-- The table of records (services/projections/records/fold.py).

-- Marks of matches that run. A state is JSON, as the fold has it: nothing asks for a part of it.
CREATE TABLE macao_projections.records_matches (
    match_id text COLLATE "C" NOT NULL,
    state    bytea NOT NULL,
    CONSTRAINT records_matches_pkey PRIMARY KEY (match_id)
) WITH (fillfactor = 70);

COMMENT ON TABLE macao_projections.records_matches IS 'One row a running match that may set records.';

-- The best of each kind and game. More are kept than are shown, so that others move up when a match is voided.
CREATE TABLE macao_projections.records (
    score    bigint NOT NULL,
    position bigint NOT NULL,
    value    bigint NOT NULL,
    version  bigint NOT NULL,
    at_ms    bigint NOT NULL,
    seat     integer,
    kind     text COLLATE "C" NOT NULL,
    game     text COLLATE "C" NOT NULL,
    match_id text COLLATE "C" NOT NULL,
    players  text[] NOT NULL,
    CONSTRAINT records_pkey PRIMARY KEY (match_id, kind)
);

COMMENT ON TABLE macao_projections.records IS 'One row a match and kind of record in which it is among the best of its game.';
COMMENT ON COLUMN macao_projections.records.score IS 'The value, turned round where the lowest is best: the highest score is best.';
COMMENT ON COLUMN macao_projections.records.position IS 'Of the end of the match in the log: of equals the first one is ahead.';
COMMENT ON COLUMN macao_projections.records.version IS 'Of the event in the stream of the match that set it.';

CREATE UNIQUE INDEX records_best ON macao_projections.records (kind, game, score DESC, position);

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_projections.records_matches, macao_projections.records TO macao_app;
