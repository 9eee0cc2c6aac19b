-- Says where a player who asked for a quick match sits down: at a table that is being filled, on the last seat of one of
-- i_others (public tables of other hosts that fit), or at a new one that the player then opens under the id i_new.
-- One asker a game at a time, for the moment that this takes, in whatever process: so two who come together meet.
--
-- i_not has the tables where the same request was turned away. i_seats is the number of seats of a new table.
create or replace function macao_lobby.promise_quick_seat(
    i_command text, i_request_hash bytea, i_game text, i_player text,
    i_new text, i_seats integer, i_others text[], i_not text[]
) returns table (table_id text, opens boolean, request_hash bytea)
language plpgsql
as $$
#variable_conflict use_column
declare
    v_table text;
    v_opens boolean := false;
begin
    perform pg_advisory_xact_lock(hashtext('macao_lobby.promise_quick_seat'), hashtext(i_game));

    return query
    select p.table_id, p.opens, p.request_hash from macao_lobby.quick_promises p
    where p.command = i_command and p.table_id <> all (i_not);
    if found then
        return;
    end if;

    delete from macao_lobby.quick_tables t where t.id = any (i_not);

    -- Who asks again while the table is being filled is sent to it again.
    select p.table_id into v_table
    from macao_lobby.quick_promises p join macao_lobby.quick_tables t on t.id = p.table_id
    where p.player = i_player and p.game = i_game
    order by p.promised_at desc limit 1;

    if v_table is null then
        -- The fullest first, so that as few as can be are left waiting for others.
        update macao_lobby.quick_tables t set promised = t.promised + 1, promised_at = now()
        where t.id = (
            select q.id from macao_lobby.quick_tables q where q.game = i_game and q.promised < q.seats
            order by q.promised desc, q.id limit 1
        )
        returning t.id into v_table;
    end if;

    if v_table is null then
        select o.id into v_table from unnest(i_others) with ordinality o (id, place)
        where not exists (select from macao_lobby.quick_tables t where t.id = o.id) and o.id <> all (i_not)
        order by o.place limit 1;
        if v_table is not null then
            insert into macao_lobby.quick_tables (id, game, seats, promised) values (v_table, i_game, 1, 1);
        end if;
    end if;

    if v_table is null then
        v_table := i_new;
        v_opens := true;
        insert into macao_lobby.quick_tables (id, game, seats, promised) values (v_table, i_game, i_seats, 1);
    end if;

    insert into macao_lobby.quick_promises (command, request_hash, game, player, table_id, opens)
    values (i_command, i_request_hash, i_game, i_player, v_table, v_opens)
    on conflict (command) do update
    set table_id = excluded.table_id, opens = excluded.opens, promised_at = now();

    return query select v_table, v_opens, i_request_hash;
end
$$;

grant execute on function macao_lobby.promise_quick_seat to macao_app;
