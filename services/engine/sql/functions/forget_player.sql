-- Erases what disputes hold of a player who is forgotten (services/runtime/erasing.py calls it): the player's own complaints,
-- and whatever others wrote about a match of the player in which the name stands. Returns how many texts went.
-- Capitals do not count. A name of one or two letters stands in too many words to be looked for in the middle of one.
create or replace function macao_engine.forget_player(i_player text, i_name text) returns integer
language plpgsql
as $$
declare
    v_name text := lower(i_name);
    v_erased integer;
begin
    delete from macao_engine.dispute_words as w
    where (w.author = i_player and w.part = 'complaint')
    or (
        (w.author = i_player or i_player = any (w.players))
        and case
            when length(v_name) > 2 then strpos(lower(w.words), v_name) > 0
            else v_name = any (regexp_split_to_array(lower(w.words), '[^[:alnum:]]+'))
        end
    );
    get diagnostics v_erased = row_count;
    return v_erased;
end
$$;

revoke all on function macao_engine.forget_player from public;
grant execute on function macao_engine.forget_player to macao_app;
