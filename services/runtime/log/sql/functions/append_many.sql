-- append_many: the only way into the log.
--
-- Takes a batch of items. An item is one command's events for one stream; in the arrays it is a run of events with the
-- same stream. Items stand in ascending order of their streams (by bytes), so a stream has one item at most. The first
-- event of an item names, by its version and its previous hash, the head that the item was decided on.
-- `item_request` and `item_answer` have one element an item, all other arrays one an event. An array in which every
-- element would be null may be left empty.
--
-- Answers one row an item, in no particular order:
--   appended   committed; the stream now ends at head_version, the item's last event stands at last_position
--   duplicate  this command was committed before, for the same request: what it was answered, and where it ended
--   reused     this command id was committed before, for another request; nothing was done
--   conflict   the stream does not end where the item was decided, but at head_version, head_hash; nothing was done
-- One item's refusal leaves the others alone. Events that do not follow from each other fail the whole call.
--
-- What is locked, in which order, and why.
--   1. The rows of the streams, in the order of their ids: nobody else moves these heads before we have committed.
--   2. The keys of the commands, in their order: whoever sends the same command waits here for our commit.
--   3. THE LOCK, one for the whole log, last: between numbering and commit there is one call at a time. So positions
--      are gapless and in the order of the commits, and a reader that has seen one will see nothing new below it.
-- Everybody takes them in this order, so nobody waits in a ring. What is costly (checks, heads, commands) is done before
-- the last lock, side by side with other calls. Each statement sees, in a volatile function under READ COMMITTED, what
-- was committed when it began; so what was waited for is seen. Without THE LOCK the key on the position would still keep
-- calls apart, by failing whoever comes second.

CREATE OR REPLACE FUNCTION macao_log.append_many(
    item_request bytea[],
    item_answer bytea[],
    event_stream text[],
    event_version bigint[],
    event_type text[],
    event_schema integer[],
    event_actor text[],
    event_command text[],
    event_at_ms bigint[],
    event_cause bytea[],
    event_body bytea[],
    event_seal bytea[],
    event_salt bytea[],
    event_sealed bytea[],
    event_previous bytea[],
    event_hash bytea[]
)
RETURNS TABLE (
    item integer,
    outcome text,
    head_version bigint,
    head_hash bytea,
    last_position bigint,
    stored_answer bytea
)
LANGUAGE plpgsql
VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- One plan for good: from the items, by the indexes, into the tables. Left to itself, the planner scans tables while
-- they are small, and goes on to do so while they grow. (That is also why heads are moved by MERGE: it keeps the items
-- on the outer side of the join, where an UPDATE ... FROM may turn it round.)
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_material = off
SET jit = off
AS $$
DECLARE
    genesis CONSTANT bytea := decode(repeat('00', 32), 'hex');
    sound boolean;
    item_number integer[];  -- only set once items were taken out
    item_stream text[];
    item_command text[];
    item_expected bigint[];
    item_previous bytea[];
    item_version bigint[];
    item_hash bytea[];
    item_end bigint[];
    verdict text[];
    moved integer;
    failures integer := 0;
    tail bigint;
    now_at timestamptz;
BEGIN
    -- The items, as they follow from the events: where each begins and ends.
    SELECT
        bool_and(
            CASE
                WHEN NOT e.first
                    THEN e.version = e.version_before + 1 AND e.previous = e.hash_before AND e.command = e.command_before
                WHEN e.stream_before >= e.stream COLLATE "C" THEN false
                ELSE e.version > 1 OR e.previous = genesis
            END
        )
        AND count(*) FILTER (WHERE e.first) = cardinality(item_request)
        AND count(*) FILTER (WHERE e.first) = cardinality(item_answer),
        array_agg(e.stream) FILTER (WHERE e.first),
        array_agg(e.command) FILTER (WHERE e.first),
        array_agg(e.version - 1) FILTER (WHERE e.first),
        array_agg(e.previous) FILTER (WHERE e.first),
        array_agg(e.version) FILTER (WHERE e.last),
        array_agg(e.hash) FILTER (WHERE e.last),
        array_agg(e.ordinality) FILTER (WHERE e.last)
    INTO sound, item_stream, item_command, item_expected, item_previous, item_version, item_hash, item_end
    FROM (
        SELECT
            u.*,
            u.stream_before IS DISTINCT FROM u.stream AS first,
            u.stream_after IS DISTINCT FROM u.stream AS last
        FROM unnest(
            event_stream, array_prepend(NULL, event_stream[:cardinality(event_stream) - 1]), event_stream[2:],
            event_version, array_prepend(NULL, event_version[:cardinality(event_version) - 1]),
            event_command, array_prepend(NULL, event_command[:cardinality(event_command) - 1]),
            event_hash, array_prepend(NULL, event_hash[:cardinality(event_hash) - 1]),
            event_previous
        ) WITH ORDINALITY AS u (
            stream, stream_before, stream_after, version, version_before, command, command_before,
            hash, hash_before, previous, ordinality
        )
    ) AS e;

    IF sound IS NOT TRUE THEN
        RAISE EXCEPTION 'the events do not follow from each other, or their streams are not in order'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    -- Nearly always every item fits. So all are tried, and the counts and the keys say whether they did; if not, what
    -- was tried is undone, each item is looked at, and those that do not fit are answered and taken out.
    <<attempt>>
    LOOP
        BEGIN
            PERFORM set_config('macao_log.appending', 'on', true);  -- see refuse_change.sql
            MERGE INTO macao_log.streams AS s
            USING unnest(item_stream, item_expected, item_previous, item_version, item_hash)
                AS u (stream, expected, previous, version, hash)
            ON s.id = u.stream
            WHEN MATCHED AND s.version = u.expected AND s.hash = u.previous
                THEN UPDATE SET version = u.version, hash = u.hash
            WHEN NOT MATCHED AND u.expected = 0
                THEN INSERT (id, kind, version, hash) VALUES (u.stream, split_part(u.stream, '_', 1), u.version, u.hash);
            GET DIAGNOSTICS moved = ROW_COUNT;
            PERFORM set_config('macao_log.appending', 'off', true);
            IF moved < cardinality(item_stream) THEN
                RAISE unique_violation;
            END IF;

            INSERT INTO macao_log.commands (id, stream, version, request_hash, answer)
            SELECT u.command, u.stream, u.version, u.request, u.answer
            FROM unnest(item_command, item_stream, item_version, item_request, item_answer)
                AS u (command, stream, version, request, answer)
            ORDER BY u.command COLLATE "C";
            EXIT attempt;
        EXCEPTION WHEN unique_violation THEN
            failures := failures + 1;
            IF failures > 5 THEN
                RAISE;  -- others keep getting ahead of us, or one command stands here twice
            END IF;
        END;

        SELECT array_agg(
            CASE
                WHEN c.request_hash = u.request THEN 'duplicate'
                WHEN c.id IS NOT NULL THEN 'reused'
                WHEN coalesce(s.version, 0) = u.expected AND (s.id IS NULL OR s.hash = u.previous) THEN 'appended'
                ELSE 'conflict'
            END
            ORDER BY u.number
        )
        INTO verdict
        FROM unnest(item_stream, item_expected, item_previous, item_command, item_request)
            WITH ORDINALITY AS u (stream, expected, previous, command, request, number)
        LEFT JOIN macao_log.streams AS s ON s.id = u.stream
        LEFT JOIN macao_log.commands AS c ON c.id = u.command;

        RETURN QUERY
        SELECT
            coalesce(u.item_number, u.number::integer),
            u.verdict,
            CASE u.verdict WHEN 'duplicate' THEN c.version WHEN 'conflict' THEN coalesce(s.version, 0) END,
            CASE u.verdict WHEN 'conflict' THEN coalesce(s.hash, genesis) END,
            CASE u.verdict WHEN 'duplicate' THEN e.position END,
            CASE u.verdict WHEN 'duplicate' THEN c.answer END
        FROM unnest(item_number, item_stream, item_command, verdict)
            WITH ORDINALITY AS u (item_number, stream, command, verdict, number)
        LEFT JOIN macao_log.streams AS s ON s.id = u.stream
        LEFT JOIN macao_log.commands AS c ON c.id = u.command
        LEFT JOIN macao_log.events AS e ON e.stream = c.stream AND e.version = c.version
        WHERE u.verdict <> 'appended';

        SELECT
            array_agg(coalesce(u.item_number, u.number::integer) ORDER BY u.number), array_agg(u.stream ORDER BY u.number),
            array_agg(u.command ORDER BY u.number), array_agg(u.expected ORDER BY u.number),
            array_agg(u.previous ORDER BY u.number), array_agg(u.version ORDER BY u.number),
            array_agg(u.hash ORDER BY u.number), array_agg(u.item_end ORDER BY u.number),
            array_agg(u.request ORDER BY u.number), array_agg(u.answer ORDER BY u.number)
        INTO
            item_number, item_stream, item_command, item_expected, item_previous, item_version, item_hash, item_end,
            item_request, item_answer
        FROM (
            SELECT v.*, sum(v.version - v.expected) OVER (ORDER BY v.number)::bigint AS item_end
            FROM unnest(
                item_number, item_stream, item_command, item_expected, item_previous, item_version, item_hash,
                item_request, item_answer, verdict
            ) WITH ORDINALITY AS v (
                item_number, stream, command, expected, previous, version, hash, request, answer, verdict, number
            )
            WHERE v.verdict = 'appended'
        ) AS u;

        IF item_stream IS NULL THEN
            RETURN;  -- nothing is left
        END IF;

        SELECT
            array_agg(u.stream ORDER BY u.number), array_agg(u.version ORDER BY u.number),
            array_agg(u.type ORDER BY u.number), array_agg(u.schema ORDER BY u.number),
            array_agg(u.actor ORDER BY u.number), array_agg(u.command ORDER BY u.number),
            array_agg(u.at_ms ORDER BY u.number), array_agg(u.cause ORDER BY u.number),
            array_agg(u.body ORDER BY u.number), array_agg(u.seal ORDER BY u.number),
            array_agg(u.salt ORDER BY u.number), array_agg(u.sealed ORDER BY u.number),
            array_agg(u.previous ORDER BY u.number), array_agg(u.hash ORDER BY u.number)
        INTO
            event_stream, event_version, event_type, event_schema, event_actor, event_command, event_at_ms,
            event_cause, event_body, event_seal, event_salt, event_sealed, event_previous, event_hash
        FROM unnest(
            event_stream, event_version, event_type, event_schema, event_actor, event_command, event_at_ms,
            event_cause, event_body, event_seal, event_salt, event_sealed, event_previous, event_hash
        ) WITH ORDINALITY AS u (
            stream, version, type, schema, actor, command, at_ms, cause, body, seal, salt, sealed, previous, hash,
            number
        )
        WHERE u.stream = ANY (item_stream);
    END LOOP;

    PERFORM pg_advisory_xact_lock(1296122703, 'macao_log.events'::regclass::oid::integer);  -- THE LOCK

    SELECT coalesce(max(e.position), 0) INTO tail FROM macao_log.events AS e;
    now_at := clock_timestamp();

    INSERT INTO macao_log.events (
        position, version, at_ms, recorded_at, schema, stream, type, actor, command, previous, hash, cause, body,
        seal, salt, sealed
    )
    SELECT  -- all arrays in step; those that are empty give nulls
        tail + generate_series(1, cardinality(event_stream)), unnest(event_version), unnest(event_at_ms), now_at,
        unnest(event_schema), unnest(event_stream), unnest(event_type), unnest(event_actor), unnest(event_command),
        unnest(event_previous), unnest(event_hash), unnest(event_cause), unnest(event_body),
        unnest(event_seal), unnest(event_salt), unnest(event_sealed);

    RETURN QUERY
    SELECT
        coalesce(u.number, u.ordinality::integer), 'appended', u.version, NULL::bytea, tail + u.item_end, NULL::bytea
    FROM unnest(item_number, item_version, item_end) WITH ORDINALITY AS u (number, version, item_end, ordinality);
END
$$;

REVOKE ALL ON FUNCTION macao_log.append_many FROM PUBLIC;
GRANT EXECUTE ON FUNCTION macao_log.append_many TO macao_app;
