-- begin_build: makes empty tables in macao_projections_next, each like the one of its name that serves, down to the names
-- of its indexes, and drops those that an earlier build has left there.
--
-- The application's role may neither make nor drop tables, so this runs with the rights of their owner. It touches tables
-- of the two schemas alone.

CREATE OR REPLACE FUNCTION macao_projections.begin_build(wanted text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    one text;
    served regclass;
    part record;
BEGIN
    PERFORM macao_projections.drop_build(wanted);
    FOREACH one IN ARRAY wanted LOOP
        served := to_regclass(format('macao_projections.%I', one));
        IF served IS NULL THEN
            RAISE EXCEPTION 'there is no table macao_projections.%', one;
        END IF;
        EXECUTE format(
            'CREATE TABLE macao_projections_next.%I (LIKE macao_projections.%I INCLUDING ALL EXCLUDING INDEXES)', one, one
        );
        -- LIKE would name indexes anew, and leaves out storage parameters, the table's comment and its rights.
        FOR part IN
            SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
            WHERE conrelid = served AND contype IN ('p', 'u', 'x') ORDER BY conname
        LOOP
            EXECUTE format(
                'ALTER TABLE macao_projections_next.%I ADD CONSTRAINT %I %s', one, part.conname, part.definition
            );
        END LOOP;
        FOR part IN
            SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index
            WHERE indrelid = served
                AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))
            ORDER BY indexrelid
        LOOP
            EXECUTE replace(
                part.definition,
                format(' ON macao_projections.%I ', one),
                format(' ON macao_projections_next.%I ', one)
            );
        END LOOP;
        FOR part IN SELECT unnest(reloptions) AS setting FROM pg_class WHERE oid = served LOOP
            EXECUTE format('ALTER TABLE macao_projections_next.%I SET (%s)', one, part.setting);
        END LOOP;
        FOR part IN
            SELECT grantee, privilege_type FROM pg_class, aclexplode(relacl) WHERE oid = served AND grantee <> relowner
        LOOP
            EXECUTE format(
                'GRANT %s ON macao_projections_next.%I TO %s', part.privilege_type, one,
                CASE part.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(part.grantee)) END
            );
        END LOOP;
        IF obj_description(served, 'pg_class') IS NOT NULL THEN
            EXECUTE format(
                'COMMENT ON TABLE macao_projections_next.%I IS %L', one, obj_description(served, 'pg_class')
            );
        END IF;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION macao_projections.begin_build(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION macao_projections.begin_build(text[]) TO macao_app;
