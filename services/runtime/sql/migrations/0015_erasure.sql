-- A player who was erased leaves a row without a name, so that the id in the log means nobody, and is given to nobody again.
ALTER TABLE macao_runtime.players
    DROP CONSTRAINT players_kind_check,
    ADD CONSTRAINT players_kind_check CHECK (kind IN ('guest', 'account', 'bot', 'erased')),
    ADD CONSTRAINT players_erased_has_no_name
        CHECK (kind <> 'erased' OR (name = 'Erased player' AND account_name IS NULL));

-- Stored answers hold names and tokens: whose they are, so that they go with the player. Those from before end in a day.
ALTER TABLE macao_runtime.answers ADD COLUMN player text COLLATE "C";

CREATE INDEX answers_player ON macao_runtime.answers (player);
