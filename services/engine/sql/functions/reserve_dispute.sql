-- Holds a place for a dispute that is about to be opened, or says why there is none:
--   reserved   the place is held under i_id
--   known      the same command asked before; the dispute has the id that is returned
--   exists     this player disputes this already
--   too-many   this player has had as many disputes in this match as there may be
-- The lock makes this one decision at a time for each match, whatever process asks.
create or replace function macao_engine.reserve_dispute(
    i_id text, i_match text, i_version bigint, i_refused text, i_player text, i_command text, i_now_ms bigint,
    i_player_max integer
) returns table (outcome text, dispute text)
language plpgsql
as $$
declare
    v_known text;
begin
    perform pg_advisory_xact_lock(hashtextextended('macao_engine.reserve_dispute:' || i_match, 0));
    select d.id into v_known from macao_engine.disputes as d where d.command = i_command;
    if v_known is not null then
        return query select 'known', v_known;
        return;
    end if;
    delete from macao_engine.disputes as d
    where d.match = i_match and d.state = 'reserved' and d.reserved_ms < i_now_ms - 60000;
    if exists (
        select from macao_engine.disputes as d
        where d.match = i_match and d.player = i_player and d.version = i_version and d.refused = i_refused
        and d.state in ('reserved', 'open')
    ) then
        return query select 'exists', ''::text;
    elsif (select count(*) from macao_engine.disputes as d where d.match = i_match and d.player = i_player) >= i_player_max then
        return query select 'too-many', ''::text;
    else
        insert into macao_engine.disputes (id, match, version, refused, player, command, state, reserved_ms)
        values (i_id, i_match, i_version, i_refused, i_player, i_command, 'reserved', i_now_ms);
        return query select 'reserved', i_id;
    end if;
end
$$;

grant execute on function macao_engine.reserve_dispute to macao_app;
