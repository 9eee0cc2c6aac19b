-- Bots at tables. Empty where none sits, so that a row from before has what a rebuild gives it.
ALTER TABLE macao_projections.board ADD COLUMN bots text[] NOT NULL DEFAULT '{}';

COMMENT ON COLUMN macao_projections.board.bots IS 'By seat, the level of a bot, NULL for a person; empty where no bot sits.';
