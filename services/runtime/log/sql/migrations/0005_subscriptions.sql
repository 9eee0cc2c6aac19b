-- Checkpoints: how far each reader of the log has come. Moved in the same transaction as what the reader writes.

CREATE TABLE macao_log.subscriptions (
    name         text COLLATE "C" NOT NULL,
    version      integer NOT NULL,
    position     bigint NOT NULL DEFAULT 0,
    event_hash   bytea,
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    state        text NOT NULL DEFAULT 'running',
    last_error   text,
    CONSTRAINT subscriptions_pkey PRIMARY KEY (name, version),
    CONSTRAINT subscriptions_position_is_not_negative CHECK (position >= 0),
    CONSTRAINT subscriptions_state_is_known CHECK (state IN ('running', 'stopped', 'lost-tail')),
    CONSTRAINT subscriptions_hash_belongs_to_position CHECK ((position = 0) = (event_hash IS NULL))
) WITH (fillfactor = 50);  -- few rows, moved all the time

COMMENT ON TABLE macao_log.subscriptions IS 'One row a reader and version of its tables: the last position that is worked into them.';
COMMENT ON COLUMN macao_log.subscriptions.state IS 'stopped: last_error names an event that failed for good. lost-tail: the tables have to be rebuilt.';
COMMENT ON COLUMN macao_log.subscriptions.event_hash IS
    'Hash of the event at position. Another hash there means that the log lost its tail and numbered anew.';

GRANT SELECT, INSERT, UPDATE, DELETE ON macao_log.subscriptions TO macao_app;
