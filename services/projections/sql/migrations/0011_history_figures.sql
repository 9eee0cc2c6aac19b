-- What is counted of each seat while a match is played (services/projections/history/tally.py). The history is built
-- again: rows from before do not have it.
DELETE FROM macao_projections.history_seats;
DELETE FROM macao_projections.history;

ALTER TABLE macao_projections.history
    ADD COLUMN bank integer NOT NULL,
    ADD COLUMN tally bigint[] NOT NULL,
    ADD COLUMN ended_position bigint;

COMMENT ON COLUMN macao_projections.history.bank IS 'The seat that holds the bank; -1 where there is none.';
COMMENT ON COLUMN macao_projections.history.tally IS 'For each seat in order: busts, calls, catches, caught, stacked, penalty_cards, chips, points.';
COMMENT ON COLUMN macao_projections.history.ended_position IS 'Of the end in the log: the order in which streaks are counted.';
