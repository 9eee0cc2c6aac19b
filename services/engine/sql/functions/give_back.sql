-- Says that the matches of one log could not be played in a time. It becomes an outage like any other, as far as it is not
-- one already: several engine processes may have seen the same. The lock is that of beat.sql.
-- All clocks that run at its end get it back, also those of other logs: that is no more than the time that a turn has
-- taken so far, and there is one list of outages for auditors to read.
create or replace function macao_engine.give_back(i_from_ms bigint, i_to_ms bigint) returns void
language plpgsql
as $$
declare
    v_from_ms bigint;
begin
    perform from macao_engine.pulse for update;
    select greatest(i_from_ms, coalesce(max(to_ms), i_from_ms)) into v_from_ms
    from macao_engine.outages where from_ms < i_to_ms;
    if v_from_ms < i_to_ms then
        insert into macao_engine.outages (from_ms, to_ms) values (v_from_ms, i_to_ms) on conflict do nothing;
    end if;
end
$$;

grant execute on function macao_engine.give_back to macao_app;
