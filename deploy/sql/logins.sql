-- The login of the services, after `macao migrate` has made the role macao_app: it may read the log and append to it
-- through one function, and owns nothing. Run by the owner, as often as you like:
--
--     psql -v password=... -f logins.sql

SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'macao_service') AS missing \gset
\if :missing
CREATE ROLE macao_service LOGIN;
\endif
ALTER ROLE macao_service WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS INHERIT PASSWORD :'password';
GRANT macao_app TO macao_service;
-- Also where the session is not ours to prepare, as behind a pooler: every session begins with the few rights.
ALTER ROLE macao_service SET role TO macao_app;
