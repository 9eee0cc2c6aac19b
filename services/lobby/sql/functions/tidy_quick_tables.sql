-- Brings what quick match has promised in line with what the log says, for tables where no promise is fresh: free seats
-- are handed out again, tables that have started or were never opened are forgotten. i_fresh_seconds is how long a
-- promise may take to be kept, i_kept_seconds how long it is remembered by its command.
create or replace function macao_lobby.tidy_quick_tables(i_fresh_seconds integer, i_kept_seconds integer) returns void
language sql
as $$
    delete from macao_lobby.quick_tables q
    where q.promised_at < now() - i_fresh_seconds * interval '1 second'
    and not exists (select from macao_lobby.tables t where t.id = q.id and t.quick_min is not null);

    insert into macao_lobby.quick_tables as q (id, game, seats, promised, promised_at)
    select t.id, t.game, t.seats, t.taken, '-infinity' from macao_lobby.tables t where t.quick_min is not null
    on conflict (id) do update set seats = excluded.seats, promised = excluded.promised
    where q.promised_at < now() - i_fresh_seconds * interval '1 second'
    and (q.seats, q.promised) is distinct from (excluded.seats, excluded.promised);

    delete from macao_lobby.quick_promises
    where promised_at < now() - i_kept_seconds * interval '1 second';
$$;

grant execute on function macao_lobby.tidy_quick_tables to macao_app;
