-- What is in the log stays as it is, whoever asks: also the owner, also a superuser, also a replication role.
-- (Whoever may alter the table can still remove the trigger. The hash chain is there for that case.)

CREATE OR REPLACE FUNCTION macao_log.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '% on %.% is refused: the log is append-only', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;

REVOKE ALL ON FUNCTION macao_log.refuse_change() FROM PUBLIC;

-- Events and commands: nothing changes, not even nothing (the trigger fires once a statement, rows or no rows).
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON macao_log.events
    FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_change();
ALTER TABLE macao_log.events ENABLE ALWAYS TRIGGER append_only;

CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON macao_log.commands
    FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_change();
ALTER TABLE macao_log.commands ENABLE ALWAYS TRIGGER append_only;

-- Streams: a head is moved by append_many and by nothing else; the trigger knows it by a setting that the function makes
-- while it does so. (A trigger for each row, which could compare old and new, would have to lock each row first.)
CREATE OR REPLACE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON macao_log.streams
    FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_change();
ALTER TABLE macao_log.streams ENABLE ALWAYS TRIGGER never_removed;

CREATE OR REPLACE TRIGGER moved_by_appends BEFORE UPDATE ON macao_log.streams
    FOR EACH STATEMENT
    WHEN (current_setting('macao_log.appending', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION macao_log.refuse_change();
