-- finish_build: the tables that were built take the place, and the names, of those that serve, which are dropped.
--
-- All in the caller's transaction, which also sets the checkpoint. Statements that read the old tables are waited for, those
-- that come wait; no statement sees one and the other. `analyze_build` goes before it, so that plans are good at once.

CREATE OR REPLACE FUNCTION macao_projections.shape_of(space text, one text)
RETURNS text
LANGUAGE sql
STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod), attnotnull), ', ' ORDER BY attnum)
    FROM pg_attribute
    WHERE attrelid = format('%I.%I', space, one)::regclass AND attnum > 0 AND NOT attisdropped
$$;

CREATE OR REPLACE FUNCTION macao_projections.finish_build(wanted text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY wanted LOOP
        EXECUTE format('LOCK TABLE macao_projections.%I IN ACCESS EXCLUSIVE MODE', one);
    END LOOP;
    FOREACH one IN ARRAY wanted LOOP
        IF macao_projections.shape_of('macao_projections', one) <> macao_projections.shape_of('macao_projections_next', one) THEN
            RAISE EXCEPTION 'a migration changed macao_projections.% while it was being built anew: begin again', one;
        END IF;
        EXECUTE format('DROP TABLE macao_projections.%I', one);
        EXECUTE format('ALTER TABLE macao_projections_next.%I SET SCHEMA macao_projections', one);
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION macao_projections.finish_build(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION macao_projections.finish_build(text[]) TO macao_app;

CREATE OR REPLACE FUNCTION macao_projections.analyze_build(wanted text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY wanted LOOP
        EXECUTE format('ANALYZE macao_projections_next.%I', one);
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION macao_projections.analyze_build(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION macao_projections.analyze_build(text[]) TO macao_app;
