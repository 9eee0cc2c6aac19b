-- The docket: one row a dispute, to find those of a match and those whose void is still to be carried out.
--
-- A projection of the streams d_…, except for rows that are `reserved`: those hold a place while the first event is on its
-- way. A reservation whose event never came (the process died) counts for nothing after a minute.
create table macao_engine.disputes (
    id          text    collate "C" primary key,
    match       text    collate "C" not null,
    version     bigint  not null,
    refused     text    collate "C" not null default '',
    player      text    collate "C" not null,
    command     text    collate "C" not null,
    state       text    not null check (state in ('reserved', 'open', 'withdrawn', 'ruled')),
    reserved_ms bigint  not null,
    void        text    check (void in ('due', 'done'))
);

create index disputes_by_match on macao_engine.disputes (match, id);
create index disputes_by_command on macao_engine.disputes (command);
create index disputes_with_a_void_due on macao_engine.disputes (id) where void = 'due';

comment on column macao_engine.disputes.refused is 'The refused command that it is about, empty where it is about the event.';
comment on column macao_engine.disputes.void is 'due: ruled void, and match-voided is to be written. done: it is.';

grant select, insert, update, delete on macao_engine.disputes to macao_app;
