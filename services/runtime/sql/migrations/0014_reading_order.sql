-- The order in which the events of several logs are read: one stretch of one log after another, as they were found. Every
-- reader follows it, and whoever begins again finds the same order. With one log there is nothing here: its own order is it.
-- A row is never changed. It covers so many events, which end at `position` of the order, and at `log_position` of the log.
CREATE TABLE macao_runtime.reading_order (
    position     bigint PRIMARY KEY,
    log          text COLLATE "C" NOT NULL REFERENCES macao_runtime.logs (name),
    log_position bigint NOT NULL,
    events       bigint NOT NULL,
    hash         bytea NOT NULL,
    CONSTRAINT reading_order_log_once UNIQUE (log, log_position),
    CONSTRAINT reading_order_counts CHECK (events > 0 AND events <= position AND events <= log_position),
    CONSTRAINT reading_order_hash_is_sha256 CHECK (octet_length(hash) = 32)
);

COMMENT ON COLUMN macao_runtime.reading_order.hash IS
    'Hash of the event at log_position. Another one there means that the log lost its tail.';

GRANT SELECT, INSERT ON macao_runtime.reading_order TO macao_app;
