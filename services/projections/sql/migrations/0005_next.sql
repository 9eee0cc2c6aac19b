-- Where tables are built anew while those of macao_projections serve (functions/begin_build.sql, finish_build.sql).
-- Empty unless a rebuild is under way.

CREATE SCHEMA macao_projections_next;

COMMENT ON SCHEMA macao_projections_next IS 'Tables of projections that are being built; they move to macao_projections when they are.';

GRANT USAGE ON SCHEMA macao_projections_next TO macao_app;
