-- Which logs there are, and on which server each lives (docs/several-logs.md). A stream's id names its log; `server` is a
-- name from MACAO_LOG_SERVERS, so no address and no password stands here. `main` is this very database.
-- Only the owner writes here (`macao logs`).
CREATE TABLE macao_runtime.logs (
    name     text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9]{0,31}$'),
    server   text COLLATE "C" NOT NULL,
    opens    boolean NOT NULL DEFAULT true,
    moves    integer NOT NULL DEFAULT 0,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    moved_at timestamptz,
    CONSTRAINT logs_main_is_here CHECK (name <> 'main' OR server = 'main')
);

COMMENT ON COLUMN macao_runtime.logs.opens IS 'Whether new matches begin in it.';
COMMENT ON COLUMN macao_runtime.logs.moves IS 'How often it was moved to another server.';

INSERT INTO macao_runtime.logs (name, server) VALUES ('main', 'main');

GRANT SELECT ON macao_runtime.logs TO macao_app;
