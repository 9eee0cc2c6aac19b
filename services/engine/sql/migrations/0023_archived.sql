-- Which matches stand in the archive, and as what: written by `macao archive`, with the login of the owner. The archive can
-- be read without this table; the table says what has to be there, so that a file that is missing or was changed is noticed.
create table macao_engine.archived (
    match       text        collate "C" primary key,
    version     bigint      not null check (version >= 1),
    hash        bytea       not null check (octet_length(hash) = 32),
    sha256      bytea       not null check (octet_length(sha256) = 32),
    bytes       bigint      not null,
    archived_at timestamptz not null default clock_timestamp()
);

comment on column macao_engine.archived.version is 'Of the last event in the record; a match that was voided later is archived anew.';
comment on column macao_engine.archived.sha256 is 'Of the record, as it is without compression.';

grant select on macao_engine.archived to macao_app;
