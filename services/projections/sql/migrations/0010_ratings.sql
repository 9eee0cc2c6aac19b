-- Ratings are events since they have a writer of their own, and these tables what is folded from them. The ones from
-- before were worked out in place; nothing in them is not in the log.
DROP TABLE macao_projections.leaderboard_matches, macao_projections.leaderboard, macao_projections.leaderboard_changes;

-- Matches with which the writer of ratings is not done (services/projections/leaderboards/fold.py).
CREATE TABLE macao_projections.leaderboard_matches (
    match_id       text COLLATE "C" NOT NULL,
    game           text COLLATE "C" NOT NULL,
    players        text[] NOT NULL,
    settled        bigint NOT NULL,
    eliminated_by  text NOT NULL,
    settled_before bigint NOT NULL,
    ended_position bigint,
    ended_version  bigint,
    places         integer[],
    voided_version bigint,
    rated          boolean NOT NULL,
    CONSTRAINT leaderboard_matches_pkey PRIMARY KEY (match_id),
    CONSTRAINT leaderboard_matches_end_is_whole CHECK (num_nulls(ended_position, ended_version, places) IN (0, 3)),
    CONSTRAINT leaderboard_matches_rated_is_to_be_withdrawn CHECK (NOT rated OR voided_version IS NOT NULL)
) WITH (fillfactor = 80);

COMMENT ON TABLE macao_projections.leaderboard_matches IS 'Matches that run and may count, that are to be applied, or that are to be withdrawn.';
COMMENT ON COLUMN macao_projections.leaderboard_matches.settled IS 'One bit a seat: it has acted or has been eliminated.';
COMMENT ON COLUMN macao_projections.leaderboard_matches.rated IS 'It was applied, and is voided: to be withdrawn. A voided match that was never applied keeps its row, in case the writer was just about to.';

CREATE UNIQUE INDEX leaderboard_matches_to_apply ON macao_projections.leaderboard_matches (game, ended_position)
    WHERE ended_position IS NOT NULL AND voided_version IS NULL;
CREATE INDEX leaderboard_matches_to_withdraw ON macao_projections.leaderboard_matches (game, match_id) WHERE rated;

-- How far the account of each game is folded: what the writer's next events have to be chained behind.
CREATE TABLE macao_projections.leaderboard_streams (
    game    text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    hash    bytea NOT NULL,
    CONSTRAINT leaderboard_streams_pkey PRIMARY KEY (game)
) WITH (fillfactor = 50);

COMMENT ON TABLE macao_projections.leaderboard_streams IS 'The last event of each stream of ratings that is worked into these tables.';

-- The account: each application of a match to a player, as it stands now.
CREATE TABLE macao_projections.leaderboard_changes (
    position bigint NOT NULL,
    before   bigint NOT NULL,
    after    bigint NOT NULL,
    version  bigint NOT NULL,
    seat     integer NOT NULL,
    place    integer NOT NULL,
    games    integer NOT NULL,
    k        integer NOT NULL,
    policy   integer NOT NULL,
    revision integer NOT NULL,
    game     text COLLATE "C" NOT NULL,
    player   text COLLATE "C" NOT NULL,
    match_id text COLLATE "C" NOT NULL,
    CONSTRAINT leaderboard_changes_pkey PRIMARY KEY (match_id, seat)
);

COMMENT ON TABLE macao_projections.leaderboard_changes IS 'One row a match that counts and player in it.';
COMMENT ON COLUMN macao_projections.leaderboard_changes.position IS 'Of the end of the match in the log: the order of a player''s changes.';
COMMENT ON COLUMN macao_projections.leaderboard_changes.version IS 'Of match-ended in the stream of the match.';
COMMENT ON COLUMN macao_projections.leaderboard_changes.games IS 'Rated games of the player before the match; k follows from it.';

CREATE INDEX leaderboard_changes_by_player ON macao_projections.leaderboard_changes (game, player, position);

-- Applications that do not begin where the one before them ended: to be made anew, the first one first.
CREATE TABLE macao_projections.leaderboard_breaks (
    position bigint NOT NULL,
    game     text COLLATE "C" NOT NULL,
    match_id text COLLATE "C" NOT NULL,
    CONSTRAINT leaderboard_breaks_pkey PRIMARY KEY (game, position)
);

COMMENT ON TABLE macao_projections.leaderboard_breaks IS 'One row an application whose `before` is no longer right for somebody.';

-- Where a player stands.
CREATE TABLE macao_projections.leaderboard (
    rating      bigint NOT NULL,
    position    bigint NOT NULL,
    games       integer NOT NULL,
    provisional boolean NOT NULL,
    game        text COLLATE "C" NOT NULL,
    player      text COLLATE "C" NOT NULL,
    CONSTRAINT leaderboard_pkey PRIMARY KEY (game, player),
    CONSTRAINT leaderboard_games_count_from_one CHECK (games >= 1)
) WITH (fillfactor = 80);

COMMENT ON TABLE macao_projections.leaderboard IS 'One row a game and player who has a rating in it.';
COMMENT ON COLUMN macao_projections.leaderboard.rating IS 'In thousandths: 1000000 is where everybody starts.';
COMMENT ON COLUMN macao_projections.leaderboard.position IS 'Of the end of the player''s last match that counts.';

CREATE INDEX leaderboard_ranks
    ON macao_projections.leaderboard (game, provisional, rating DESC, games DESC, player);

-- How many players stand on each whole point, so that a rank is a short sum and not a count over everybody ahead.
CREATE TABLE macao_projections.leaderboard_counts (
    players     bigint NOT NULL,
    points      integer NOT NULL,
    provisional boolean NOT NULL,
    game        text COLLATE "C" NOT NULL,
    CONSTRAINT leaderboard_counts_pkey PRIMARY KEY (game, provisional, points) INCLUDE (players)
) WITH (fillfactor = 50);

COMMENT ON TABLE macao_projections.leaderboard_counts IS 'Players by whole points of rating; no row where there are none.';

GRANT SELECT, INSERT, UPDATE, DELETE ON
    macao_projections.leaderboard_matches, macao_projections.leaderboard_streams,
    macao_projections.leaderboard_changes, macao_projections.leaderboard_breaks,
    macao_projections.leaderboard, macao_projections.leaderboard_counts
    TO macao_app;
