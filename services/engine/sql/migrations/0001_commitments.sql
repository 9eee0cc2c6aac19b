-- The commitments of macao-fair/1 and, encrypted, the seeds behind them.
--
-- A row is written when a table opens (and for each rematch), before any player's seed for that match is
-- accepted. `number` counts without a gap, so that a commitment that was never revealed can be seen by
-- everybody. `seed` in the clear is null until the match is over, or the table closed without one.
create schema if not exists macao_engine;

create table macao_engine.commitments (
    number      bigint      primary key check (number > 0),
    match       text        not null unique,
    command     text        not null unique,
    game        text        not null,
    commitment  text        not null check (length(commitment) = 64),
    seed_sealed bytea       not null,
    seed        text        check (length(seed) = 64),
    state       text        not null default 'open' check (state in ('open', 'played', 'unused')),
    table_id    text,
    created_at  timestamptz not null default clock_timestamp(),
    check ((state = 'open') = (seed is null))
);

create index commitments_of_a_table on macao_engine.commitments (table_id) where state = 'open';

grant usage on schema macao_engine to macao_app;
grant select, insert on macao_engine.commitments to macao_app;
grant update (seed, state, table_id) on macao_engine.commitments to macao_app;
