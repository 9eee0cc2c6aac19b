-- What the lobby keeps besides the log. All of it can be dropped and is made again from the log.
CREATE SCHEMA macao_lobby;

GRANT USAGE ON SCHEMA macao_lobby TO macao_app;
