-- Where events are cut into partitions, no index stands over all positions. In its place: what was inserted has to go on
-- where the log ended, without a gap and without a number twice, whatever inserted it.
--
-- THE LOCK of append_many is taken here as well (by append_many itself it is held already, and costs nothing more). So an
-- insert that numbered without it waits here for the commit of whoever has it, and then sees what that wrote: under READ
-- COMMITTED each statement sees what was committed when it began. Under another isolation it would not, and is refused.

CREATE OR REPLACE FUNCTION macao_log.refuse_misnumbered() RETURNS trigger
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
-- By the indexes, whatever is known of the tables when this is planned, as in append_many.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
    first bigint;
    last bigint;
    written bigint;
    numbers bigint;
    before bigint;
    there bigint;
BEGIN
    SELECT min(a.position), max(a.position), count(*), count(DISTINCT a.position)
    INTO first, last, written, numbers
    FROM arrived AS a;
    IF written = 0 THEN
        RETURN NULL;
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'events are inserted under READ COMMITTED, not under %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state';
    END IF;

    PERFORM pg_advisory_xact_lock(1296122703, 'macao_log.events'::regclass::oid::integer);  -- THE LOCK

    -- The event before, if there is one, and what was inserted: nothing else may stand from there on.
    SELECT count(*) FILTER (WHERE e.position < first), count(*)
    INTO before, there
    FROM (
        SELECT f.position FROM macao_log.events AS f
        WHERE f.position >= first - 1 ORDER BY f.position LIMIT written + 2
    ) AS e;
    IF numbers <> written OR last - first + 1 <> written OR before <> (first > 1)::integer OR there <> written + before THEN
        RAISE EXCEPTION 'events from position % to % do not go on where the log ends', first, last
            USING ERRCODE = 'unique_violation';
    END IF;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION macao_log.refuse_misnumbered() FROM PUBLIC;
