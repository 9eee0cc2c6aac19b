-- The leaderboards: one per game, all in the same tables.

-- Matches that may yet count, and those that have counted (services/projections/leaderboards/fold.py).
CREATE TABLE macao_projections.leaderboard_matches (
    match_id       text COLLATE "C" NOT NULL,
    game           text COLLATE "C" NOT NULL,
    players        text[] NOT NULL,
    settled        bigint NOT NULL,
    eliminated_by  text NOT NULL,
    settled_before bigint NOT NULL,
    ended_position bigint,
    places         integer[],
    CONSTRAINT leaderboard_matches_pkey PRIMARY KEY (match_id),
    CONSTRAINT leaderboard_matches_end_is_whole CHECK ((ended_position IS NULL) = (places IS NULL))
) WITH (fillfactor = 80);

COMMENT ON TABLE macao_projections.leaderboard_matches IS 'Rated matches between people: those that run, and the results of those that counted.';
COMMENT ON COLUMN macao_projections.leaderboard_matches.settled IS 'One bit a seat: it has acted or has been eliminated.';

-- The results of a game in the one order in which they are applied.
CREATE UNIQUE INDEX leaderboard_matches_in_order
    ON macao_projections.leaderboard_matches (game, ended_position) WHERE ended_position IS NOT NULL;

-- Where a player stands.
CREATE TABLE macao_projections.leaderboard (
    game   text COLLATE "C" NOT NULL,
    player text COLLATE "C" NOT NULL,
    rating bigint NOT NULL,
    games  integer NOT NULL,
    CONSTRAINT leaderboard_pkey PRIMARY KEY (game, player),
    CONSTRAINT leaderboard_games_count_from_zero CHECK (games >= 0)
);

COMMENT ON TABLE macao_projections.leaderboard IS 'One row a game and player who has a rating in it.';
COMMENT ON COLUMN macao_projections.leaderboard.rating IS 'In thousandths: 1000000 is where everybody starts.';

CREATE INDEX leaderboard_ranks ON macao_projections.leaderboard (game, rating DESC, games DESC, player);

-- Each application of a result to a player: what the rating was, what it became, and why by so much.
CREATE TABLE macao_projections.leaderboard_changes (
    position bigint NOT NULL,
    before   bigint NOT NULL,
    after    bigint NOT NULL,
    place    integer NOT NULL,
    games    integer NOT NULL,
    k        integer NOT NULL,
    policy   integer NOT NULL,
    game     text COLLATE "C" NOT NULL,
    player   text COLLATE "C" NOT NULL,
    match_id text COLLATE "C" NOT NULL,
    CONSTRAINT leaderboard_changes_pkey PRIMARY KEY (match_id, player)
);

COMMENT ON TABLE macao_projections.leaderboard_changes IS 'One row a player and match that counted, as it was applied.';
COMMENT ON COLUMN macao_projections.leaderboard_changes.position IS 'Of the end of the match in the log.';
COMMENT ON COLUMN macao_projections.leaderboard_changes.games IS 'Rated games of the player before the match; k follows from it.';

CREATE INDEX leaderboard_changes_in_order ON macao_projections.leaderboard_changes (game, position);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    macao_projections.leaderboard_matches, macao_projections.leaderboard, macao_projections.leaderboard_changes
    TO macao_app;
