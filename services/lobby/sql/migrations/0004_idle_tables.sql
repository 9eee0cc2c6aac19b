-- What the keeper closes because nobody has touched it for long, and how many matches with bots somebody has running.
ALTER TABLE macao_lobby.tables
    ADD COLUMN bots integer NOT NULL DEFAULT 0;

CREATE INDEX tables_idle ON macao_lobby.tables (changed_at_ms) WHERE state = 'open';
CREATE INDEX tables_with_bots ON macao_lobby.tables (id) WHERE state = 'playing' AND bots > 0;
