-- The commands log: every command that reached a match over HTTP, refused ones included, with the time at which it came.
--
-- Kept beside the events and no part of the truth: accepted commands are in the log as events. This tells who was first,
-- and what was refused. A partition holds one day, by the time of arrival; days that are over are dropped as a whole.
-- `number` tells the order of what one process took in within one millisecond.
create sequence macao_engine.command_log_numbers as bigint;

create table macao_engine.command_log (
    arrived_ms  bigint   not null,
    number      bigint   not null default nextval('macao_engine.command_log_numbers'),
    match       text     collate "C" not null,
    player      text     collate "C" not null,
    command     text     collate "C",
    move        bytea    check (octet_length(move) <= 512),
    if_match    bigint,
    status      integer  not null,
    code        text,
    clause      text,
    version     bigint,
    answered_ms bigint   not null,
    request_id  text     not null
) partition by range (arrived_ms);

create index command_log_by_match on macao_engine.command_log (match, arrived_ms, number);

grant select, insert on macao_engine.command_log to macao_app;
grant usage on sequence macao_engine.command_log_numbers to macao_app;
