-- The head of every stream: what the next event has to be chained behind.
-- It could be read from the events; kept apart, an append looks at one small row instead.

CREATE TABLE macao_log.streams (
    id      text COLLATE "C" NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    hash    bytea NOT NULL,
    CONSTRAINT streams_pkey PRIMARY KEY (id),
    CONSTRAINT streams_kind_is_a_letter CHECK (kind ~ '^[a-z]$'),
    CONSTRAINT streams_version_counts_from_one CHECK (version >= 1),
    CONSTRAINT streams_hash_is_sha256 CHECK (octet_length(hash) = 32)
) WITH (fillfactor = 70);  -- room on the page, so that moving a head touches no index

COMMENT ON TABLE macao_log.streams IS 'One row a stream: the version and the hash of its last event.';
COMMENT ON COLUMN macao_log.streams.kind IS 'The letter before the underscore of the id: m for a match, t for a table.';

GRANT SELECT ON macao_log.streams TO macao_app;
