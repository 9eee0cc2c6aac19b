-- Says that an engine process is alive. If the last word of any of them is older than i_gap_ms, the time in between was
-- an outage; the row lock lets exactly one process find it.
create or replace function macao_engine.beat(i_now_ms bigint, i_gap_ms bigint) returns void
language plpgsql
as $$
declare
    v_last_ms bigint;
begin
    insert into macao_engine.pulse (last_ms) values (i_now_ms) on conflict do nothing;
    select last_ms into v_last_ms from macao_engine.pulse for update;
    if i_now_ms - v_last_ms > i_gap_ms then
        insert into macao_engine.outages (from_ms, to_ms) values (v_last_ms, i_now_ms) on conflict do nothing;
    end if;
    update macao_engine.pulse set last_ms = greatest(last_ms, i_now_ms);
end
$$;

grant execute on function macao_engine.beat to macao_app;
