-- While a log is being moved, and for good where it lived before, nothing is appended. The error is one of those after which
-- a writer connects anew, and so finds where the log lives now; what it could not write it sends there, under the same ids.
-- A copy is fenced as well until it is the log; what fills it says so by a setting.

CREATE OR REPLACE FUNCTION macao_log.refuse_append() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF current_setting('macao_log.copying', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'nothing is written to % here: the log is being moved, or has moved', TG_TABLE_SCHEMA
        USING ERRCODE = 'cannot_connect_now';
END
$$;

REVOKE ALL ON FUNCTION macao_log.refuse_append() FROM PUBLIC;
