#!/bin/sh
# A base backup, from which a server can be brought to any later moment that the archive of its WAL reaches:
#
#     DATABASE=postgresql://REPLICATION:…@…/macao base.sh DIRECTORY
#
# The server archives its WAL, each file once and synced, with
#
#     archive_mode = on
#     archive_timeout = 60
#     archive_command = 'test ! -f ARCHIVE/%f && cp %p ARCHIVE/%f.part && sync ARCHIVE/%f.part && mv ARCHIVE/%f.part ARCHIVE/%f'
#
# Prints where the backup lies; docs/operations.md tells how to go back to it.
set -eu
: "${DATABASE:?the URL of the server, with a login that may replicate}"
: "${1:?where to put the backup}"
umask 077
target=$1/base-$(date -u +%Y%m%dT%H%M%SZ)
pg_basebackup --dbname="$DATABASE" --pgdata="$target.part" --wal-method=stream --checkpoint=fast
pg_verifybackup --quiet "$target.part"
mv "$target.part" "$target"
echo "$target"
