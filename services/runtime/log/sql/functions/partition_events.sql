-- partition_events: cuts the events of a log that has none yet into partitions, by a hash of the stream (docs/adr/0017).
--
-- Afterwards everything is as it was for whoever names the table `events`: columns, checks, comments, rights, triggers.
-- What is different:
--   * a stream lies in one partition, so the key over stream and version goes on to be one index;
--   * a key over positions can only be had for each partition. What keeps them apart in the whole log is the trigger
--     `numbered` (refuse_misnumbered.sql), which looks at everything that is inserted, whoever inserts it;
--   * a partition is not written by its own name, not by the owner either: nothing would be looked at (refuse_direct.sql).
-- Only the owner calls this. Answers whether there was anything to do.

CREATE OR REPLACE FUNCTION macao_log.partition_events(partitions integer) RETURNS boolean
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kind "char";
    there integer;
    told text;
    part text;
BEGIN
    IF partitions NOT BETWEEN 2 AND 256 OR partitions & (partitions - 1) <> 0 THEN
        RAISE EXCEPTION 'events are cut into 2, 4, 8 … 256 partitions, not into %', partitions
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    LOCK TABLE macao_log.events IN ACCESS EXCLUSIVE MODE;
    SELECT c.relkind, (SELECT count(*) FROM pg_inherits WHERE inhparent = c.oid), obj_description(c.oid, 'pg_class')
    INTO kind, there, told
    FROM pg_class AS c WHERE c.oid = to_regclass('macao_log.events');
    IF kind = 'p' AND there = partitions THEN
        RETURN false;
    ELSIF kind = 'p' THEN
        RAISE EXCEPTION 'the events of macao_log are cut into % partitions, and cannot be cut into % in place', there, partitions
            USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF EXISTS (SELECT FROM macao_log.events) THEN
        RAISE EXCEPTION 'macao_log holds events in one table, and cannot be cut into partitions in place'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;

    ALTER TABLE macao_log.events RENAME TO events_whole;
    CREATE TABLE macao_log.events (
        LIKE macao_log.events_whole INCLUDING COMMENTS INCLUDING CONSTRAINTS INCLUDING DEFAULTS INCLUDING STORAGE
    ) PARTITION BY HASH (stream);
    DROP TABLE macao_log.events_whole;
    ALTER TABLE macao_log.events ADD CONSTRAINT events_one_per_version UNIQUE (stream, version);
    EXECUTE format('COMMENT ON TABLE macao_log.events IS %L', told);
    GRANT SELECT ON macao_log.events TO macao_app;

    CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON macao_log.events
        FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_change();
    ALTER TABLE macao_log.events ENABLE ALWAYS TRIGGER append_only;
    CREATE TRIGGER numbered AFTER INSERT ON macao_log.events REFERENCING NEW TABLE AS arrived
        FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_misnumbered();
    ALTER TABLE macao_log.events ENABLE ALWAYS TRIGGER numbered;

    FOR number IN 0 .. partitions - 1 LOOP
        part := format('events_%s', to_char(number, 'FM000'));
        EXECUTE format(
            'CREATE TABLE macao_log.%I PARTITION OF macao_log.events FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
            part, partitions, number
        );
        -- Found by the planner as any index of the table; a key of the whole table would have to contain the stream.
        EXECUTE format('ALTER TABLE macao_log.%I ADD CONSTRAINT %I PRIMARY KEY (position)', part, part || '_pkey');
        EXECUTE format(
            'COMMENT ON TABLE macao_log.%I IS %L', part,
            format('Of events, part %s of %s by a hash of the stream. Read and appended to as events, never by this name.', number + 1, partitions)
        );
        EXECUTE format('GRANT SELECT ON macao_log.%I TO macao_app', part);
        -- A trigger for a statement fires for the table that the statement names: this one for the partition itself.
        EXECUTE format(
            'CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON macao_log.%I '
            'FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_change()',
            part
        );
        EXECUTE format('ALTER TABLE macao_log.%I ENABLE ALWAYS TRIGGER append_only', part);
        EXECUTE format(
            'CREATE TRIGGER by_the_table BEFORE INSERT ON macao_log.%I '
            'FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_direct()',
            part
        );
        EXECUTE format('ALTER TABLE macao_log.%I ENABLE ALWAYS TRIGGER by_the_table', part);
    END LOOP;
    RETURN true;
END
$$;

REVOKE ALL ON FUNCTION macao_log.partition_events FROM PUBLIC;
