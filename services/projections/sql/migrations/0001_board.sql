-- What is folded from the log lives in this schema and may be thrown away and built again. No clock and no
-- sequence writes into it: a rebuild gives the same rows, byte for byte. Texts that order something are
-- compared by bytes, so that the order is the same under every locale.

CREATE SCHEMA macao_projections;

COMMENT ON SCHEMA macao_projections IS 'What is folded from the log; it can be thrown away and built again.';

GRANT USAGE ON SCHEMA macao_projections TO macao_app;

-- The lobby board (services/projections/board/fold.py).
CREATE TABLE macao_projections.board (
    table_id       text COLLATE "C" NOT NULL,
    game           text COLLATE "C" NOT NULL,
    state          text COLLATE "C" NOT NULL,
    options        text NOT NULL,
    players        text[] NOT NULL,
    host           text NOT NULL,
    turn_seconds   integer,
    visibility     text COLLATE "C" NOT NULL,
    rated          boolean NOT NULL,
    opened_at_ms   bigint NOT NULL,
    match_id       text COLLATE "C",
    match_state    text COLLATE "C",
    match_round    integer,
    match_at_ms    bigint,
    shown_position bigint NOT NULL,
    CONSTRAINT board_pkey PRIMARY KEY (table_id),
    CONSTRAINT board_state_is_known CHECK (state IN ('open', 'playing', 'closed')),
    CONSTRAINT board_visibility_is_known CHECK (visibility IN ('public', 'private')),
    CONSTRAINT board_match_is_whole CHECK (num_nulls(match_id, match_state, match_round) IN (0, 3))
) WITH (fillfactor = 80);

COMMENT ON TABLE macao_projections.board IS 'One row a table, closed and private ones included.';
COMMENT ON COLUMN macao_projections.board.players IS 'By seat; NULL where it is free.';
COMMENT ON COLUMN macao_projections.board.shown_position IS 'The last event that changed what the public sees of it; 0: it never saw any.';

CREATE INDEX board_shown ON macao_projections.board (table_id DESC) WHERE visibility = 'public' AND state <> 'closed';
CREATE INDEX board_by_match ON macao_projections.board (match_id) WHERE match_id IS NOT NULL;
CREATE INDEX board_changes ON macao_projections.board (shown_position) WHERE shown_position > 0;

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_projections.board TO macao_app;
