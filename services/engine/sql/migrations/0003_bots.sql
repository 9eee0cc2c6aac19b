-- Running matches with bots in them, and which engine process plays those bots at the moment.
--
-- `bot_matches` is a projection of the log: a row from the match's start until its end. A process holds a match for a few
-- seconds and says again and again that it still does; who falls silent has lost it, and another process goes on. Times
-- are the database's, so that the processes' clocks need not agree. Holding is about doing work once, not about
-- correctness: a move that two processes make is written once all the same.
create table macao_engine.bot_matches (
    match      text        primary key,
    holder     text,
    held_until timestamptz not null default '-infinity'
);

create index bot_matches_by_end_of_hold on macao_engine.bot_matches (held_until);

grant select, insert, update, delete on macao_engine.bot_matches to macao_app;
