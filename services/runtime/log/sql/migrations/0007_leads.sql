-- Who reads for a subscription, and what it has set aside.
-- The lead is a number that only grows (epoch): every effect of a reader is written in a transaction that begins by moving
-- the checkpoint under the reader's own epoch. Who was paused and comes back finds another epoch, and writes nothing.

ALTER TABLE macao_log.subscriptions
    ADD COLUMN slice          integer NOT NULL DEFAULT 0,
    ADD COLUMN epoch          bigint NOT NULL DEFAULT 0,
    ADD COLUMN leader         text,
    ADD COLUMN wanted_by      text,
    ADD COLUMN wanted_at      timestamptz,
    ADD COLUMN parked         integer NOT NULL DEFAULT 0,
    ADD COLUMN generation     integer NOT NULL DEFAULT 0,
    ADD COLUMN built_position bigint NOT NULL DEFAULT 0,
    DROP CONSTRAINT subscriptions_pkey,
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (name, version, slice),
    ADD CONSTRAINT subscriptions_slice_counts_from_zero CHECK (slice >= 0),
    ADD CONSTRAINT subscriptions_parked_is_not_negative CHECK (parked >= 0),
    ADD CONSTRAINT subscriptions_wish_is_whole CHECK (num_nulls(wanted_by, wanted_at) IN (0, 2));

COMMENT ON COLUMN macao_log.subscriptions.slice IS 'Of several slices, which: streams are shared out among them by a hash of their id.';
COMMENT ON COLUMN macao_log.subscriptions.epoch IS 'The fencing token: raised by whoever takes the lead, checked with every effect.';
COMMENT ON COLUMN macao_log.subscriptions.leader IS 'The process that has the lead, or had it last.';
COMMENT ON COLUMN macao_log.subscriptions.wanted_by IS 'A process with less to do, that asks for the lead.';
COMMENT ON COLUMN macao_log.subscriptions.parked IS 'How many streams are set aside, see dead_letters.';
COMMENT ON COLUMN macao_log.subscriptions.generation IS 'How often the tables were replaced by a rebuild.';
COMMENT ON COLUMN macao_log.subscriptions.built_position IS 'Where the last rebuild took over.';

-- Streams that a reader has set aside because of an event that it cannot work off.
CREATE TABLE macao_log.dead_letters (
    name      text COLLATE "C" NOT NULL,
    version   integer NOT NULL,
    stream    text COLLATE "C" NOT NULL,
    position  bigint NOT NULL,
    type      text COLLATE "C" NOT NULL,
    error     text NOT NULL,
    attempts  integer NOT NULL,
    parked_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT dead_letters_pkey PRIMARY KEY (name, version, stream)
);

COMMENT ON TABLE macao_log.dead_letters IS
    'One row a subscription and stream that it set aside: the event that failed. What follows it in the stream waits in the log.';

-- Rebuilds: asked for, under way, and the last one of each subscription.
CREATE TABLE macao_log.rebuilds (
    name         text COLLATE "C" NOT NULL,
    version      integer NOT NULL,
    purpose      text NOT NULL,
    reason       text NOT NULL,
    state        text NOT NULL DEFAULT 'waiting',
    requested_at timestamptz NOT NULL DEFAULT now(),
    started_at   timestamptz,
    ended_at     timestamptz,
    position     bigint NOT NULL DEFAULT 0,
    head         bigint NOT NULL DEFAULT 0,
    worker       text,
    last_error   text,
    differences  bigint,
    CONSTRAINT rebuilds_pkey PRIMARY KEY (name),
    CONSTRAINT rebuilds_purpose_is_known CHECK (purpose IN ('switch', 'compare')),
    CONSTRAINT rebuilds_state_is_known CHECK (state IN ('waiting', 'running', 'done', 'failed'))
);

COMMENT ON TABLE macao_log.rebuilds IS 'One row a subscription whose tables were ever built anew: the last time.';
COMMENT ON COLUMN macao_log.rebuilds.differences IS 'Of purpose compare: rows that differ from the served ones.';

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_log.dead_letters, macao_log.rebuilds TO macao_app;
