-- The schema of a log. The application's role reads here and appends through a function; it writes nothing itself.

CREATE SCHEMA macao_log;

COMMENT ON SCHEMA macao_log IS 'The event log: everything that ever happened, in the order in which it was committed.';

GRANT USAGE ON SCHEMA macao_log TO macao_app;
