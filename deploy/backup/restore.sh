#!/bin/sh
# Fill an empty database from a dump that dump.sh has made:
#
#     DATABASE=postgresql://OWNER:…@…/macao restore.sh DIRECTORY/macao-…
#
# All of it or nothing. Roles belong to the server and are not in a dump: macao_app is made here, the login of the
# services by deploy/sql/logins.sql afterwards. Then `macao migrate`, and `macao audit --all` before anybody plays.
set -eu
: "${DATABASE:?the URL of an empty database, as its owner and past any pooler}"
: "${1:?the directory that dump.sh has printed}"
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --dbname="$DATABASE" <<'SQL'
SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'macao_app') AS missing \gset
\if :missing
CREATE ROLE macao_app NOLOGIN;
\endif
SQL
pg_restore --no-owner --exit-on-error --single-transaction --dbname="$DATABASE" "$1/macao.dump"
psql --quiet --no-psqlrc --dbname="$DATABASE" --command="ANALYZE"
