-- Every command that led to events, with the answer that it got: a retry is answered from here, for ever.

CREATE TABLE macao_log.commands (
    id           text COLLATE "C" NOT NULL,
    stream       text COLLATE "C" NOT NULL,
    version      bigint NOT NULL,
    position     bigint NOT NULL,
    request_hash bytea NOT NULL,
    answer       bytea NOT NULL,
    CONSTRAINT commands_pkey PRIMARY KEY (id),
    CONSTRAINT commands_request_hash_is_sha256 CHECK (octet_length(request_hash) = 32)
);

COMMENT ON TABLE macao_log.commands IS 'One row a command: what was asked (as a hash) and what was answered.';
COMMENT ON COLUMN macao_log.commands.version IS 'Version of the stream after the last event of the command.';
COMMENT ON COLUMN macao_log.commands.position IS 'Position of the last event of the command.';

GRANT SELECT ON macao_log.commands TO macao_app;
