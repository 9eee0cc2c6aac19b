#!/bin/sh
# A dump of the database, while it serves, and the checkpoints that are kept outside it:
#
#     DATABASE=postgresql://OWNER:…@…/macao CHECKPOINTS=/var/lib/macao/checkpoints dump.sh DIRECTORY
#
# Prints where it lies. The checkpoints are copied last: a copy that is younger than the dump shows after a restore that
# something is missing; an older one would not. MACAO_SECRET_KEY is not in it, and has to be kept elsewhere.
set -eu
: "${DATABASE:?the URL of the database, as its owner and past any pooler}"
: "${1:?where to put the dump}"
umask 077
target=$1/macao-$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$target.part"
pg_dump --format=custom --file="$target.part/macao.dump" --dbname="$DATABASE"
if [ -n "${CHECKPOINTS:-}" ]; then
    cp -R "$CHECKPOINTS" "$target.part/checkpoints"
fi
sync
mv "$target.part" "$target"
echo "$target"
