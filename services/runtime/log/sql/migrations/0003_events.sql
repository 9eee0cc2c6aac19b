-- The events themselves. Inserted by append_many, never changed, never removed.
-- `position` has no sequence behind it: append_many numbers under a lock, so positions are gapless and in the
-- order of the commits, and a reader that has seen position n will never find something new below it.
-- No foreign key to `streams`: append_many writes both, and a key check for every row would double its work.

CREATE TABLE macao_log.events (
    position    bigint NOT NULL,
    version     bigint NOT NULL,
    at_ms       bigint NOT NULL,
    recorded_at timestamptz NOT NULL,
    schema      integer NOT NULL,
    stream      text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    actor       text COLLATE "C" NOT NULL,
    command     text COLLATE "C" NOT NULL,
    previous    bytea NOT NULL,
    hash        bytea NOT NULL,
    cause       bytea,
    body        bytea NOT NULL,
    seal        bytea,
    salt        bytea,
    sealed      bytea,
    CONSTRAINT events_pkey PRIMARY KEY (position),
    CONSTRAINT events_one_per_version UNIQUE (stream, version),
    CONSTRAINT events_position_counts_from_one CHECK (position >= 1),
    CONSTRAINT events_version_counts_from_one CHECK (version >= 1),
    CONSTRAINT events_schema_counts_from_one CHECK (schema >= 1),
    CONSTRAINT events_hashes_are_sha256 CHECK (octet_length(previous) = 32 AND octet_length(hash) = 32),
    CONSTRAINT events_sealed_is_whole CHECK (num_nulls(seal, salt, sealed) IN (0, 3))
);

COMMENT ON TABLE macao_log.events IS 'The truth. Append-only; bodies are the exact bytes that were hashed.';
COMMENT ON COLUMN macao_log.events.position IS 'Place in the whole log: 1, 2, 3 ... without a gap, in the order of commits.';
COMMENT ON COLUMN macao_log.events.version IS 'Place in the stream: 1, 2, 3 ... without a gap.';
COMMENT ON COLUMN macao_log.events.at_ms IS 'When the command was decided, Unix time in ms; covered by the hash.';
COMMENT ON COLUMN macao_log.events.recorded_at IS 'When the database took it in; not covered by the hash.';
COMMENT ON COLUMN macao_log.events.schema IS 'Version of the shape of this type of event.';
COMMENT ON COLUMN macao_log.events.cause IS 'The move or request behind the command, on the first event of a command.';
COMMENT ON COLUMN macao_log.events.body IS 'What everybody may read, compact JSON.';
COMMENT ON COLUMN macao_log.events.sealed IS 'The whole event where body leaves something out; seal is its commitment under salt.';

GRANT SELECT ON macao_log.events TO macao_app;
