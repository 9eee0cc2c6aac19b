-- Makes the partitions of the commands log for the days around i_now_ms, and drops those whose last day lies more than
-- i_keep_days back. Returns how many were dropped.
--
-- What counts as past is decided by the earlier of two clocks, the caller's and the database's, and never less than eight
-- days are kept: a match can be disputed for a week, and no wrong clock or setting may take the evidence away before.
create or replace function macao_engine.keep_command_log(i_now_ms bigint, i_keep_days integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    day_ms constant bigint := 86400000;
    v_day bigint := i_now_ms / day_ms;
    v_past_ms bigint := least(i_now_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint)
        - greatest(i_keep_days, 8) * day_ms;
    v_partition text;
    v_dropped integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('macao_engine.keep_command_log'));
    for v_offset in -1..1 loop
        v_partition := 'command_log_' || to_char(to_timestamp((v_day + v_offset) * 86400) at time zone 'UTC', 'YYYYMMDD');
        if to_regclass('macao_engine.' || v_partition) is null then
            execute format(
                'create table macao_engine.%I partition of macao_engine.command_log for values from (%s) to (%s)',
                v_partition, (v_day + v_offset) * day_ms, (v_day + v_offset + 1) * day_ms
            );
        end if;
    end loop;
    for v_partition in
        select c.relname
        from pg_inherits as i
        join pg_class as c on c.oid = i.inhrelid
        where i.inhparent = 'macao_engine.command_log'::regclass
        and c.relname ~ '^command_log_\d{8}$'
        and (extract(epoch from to_date(right(c.relname, 8), 'YYYYMMDD')) + 86400) * 1000 <= v_past_ms
    loop
        execute format('drop table macao_engine.%I', v_partition);
        v_dropped := v_dropped + 1;
    end loop;
    return v_dropped;
end
$$;

revoke all on function macao_engine.keep_command_log from public;
grant execute on function macao_engine.keep_command_log to macao_app;
