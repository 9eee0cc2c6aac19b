-- A partition of the events is written to as a part of the table, never by its own name: what looks at the positions of
-- everything that is inserted (refuse_misnumbered.sql) fires for the table. Also for the owner, as in refuse_change.sql.

CREATE OR REPLACE FUNCTION macao_log.refuse_direct() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '% on %.% is refused: events are appended to the whole table', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;

REVOKE ALL ON FUNCTION macao_log.refuse_direct() FROM PUBLIC;
