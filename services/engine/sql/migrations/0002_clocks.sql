-- Thinking time (G10): when the player who must decide next runs out of it, and the times that nobody is charged for.
--
-- `clocks` has a row for every running match at a table with a clock. It is a projection of the log: since_ms is the
-- time of the event after which the seat had to decide, due_ms lies turn_seconds later.
-- `pulse` is beaten by every engine process. A gap in it is a time in which the service was down; it becomes an outage,
-- and every clock that ran during it gets it back.
create table macao_engine.clocks (
    match    text    primary key,
    seat     integer not null check (seat >= 0),
    since_ms bigint  not null,
    due_ms   bigint  not null check (due_ms > since_ms)
);

create index clocks_by_due on macao_engine.clocks (due_ms);

create table macao_engine.pulse (
    single  boolean primary key default true check (single),
    last_ms bigint  not null
);

create table macao_engine.outages (
    from_ms bigint primary key,
    to_ms   bigint not null check (to_ms > from_ms)
);

create index outages_by_end on macao_engine.outages (to_ms);

grant select, insert, update, delete on macao_engine.clocks to macao_app;
grant select, insert, update on macao_engine.pulse to macao_app;
grant select, insert on macao_engine.outages to macao_app;
