-- drop_build: removes what a build has made in macao_projections_next.

CREATE OR REPLACE FUNCTION macao_projections.drop_build(wanted text[])
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
        -- Asked first: without it, every build would begin with a notice.
        IF to_regclass(format('macao_projections_next.%I', one)) IS NOT NULL THEN
            EXECUTE format('DROP TABLE macao_projections_next.%I', one);
        END IF;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION macao_projections.drop_build(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION macao_projections.drop_build(text[]) TO macao_app;
