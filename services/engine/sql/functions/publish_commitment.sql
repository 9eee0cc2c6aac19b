-- Writes a commitment under the next public number; for a command that was carried out before, returns what it wrote.
-- The lock makes the count gapless: a number is taken only by a transaction that also commits its row.
create or replace function macao_engine.publish_commitment(
    i_command text, i_match text, i_game text, i_commitment text, i_seed_sealed bytea
) returns table (match text, commitment text, number bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
    perform pg_advisory_xact_lock(hashtext('macao_engine.publish_commitment'));
    insert into macao_engine.commitments (number, match, command, game, commitment, seed_sealed)
    select coalesce(max(c.number), 0) + 1, i_match, i_command, i_game, i_commitment, i_seed_sealed
    from macao_engine.commitments c
    on conflict (command) do nothing;
    return query
    select c.match, c.commitment, c.number from macao_engine.commitments c where c.command = i_command;
end
$$;

grant execute on function macao_engine.publish_commitment to macao_app;
