-- What every service shares besides the log: keys, players, tokens.
CREATE SCHEMA IF NOT EXISTS macao_runtime;

GRANT USAGE ON SCHEMA macao_runtime TO macao_app;
