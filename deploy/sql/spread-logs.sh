#!/bin/sh
# One PostgreSQL for each log: moves the logs n1, n2 … to the servers that are named, in this order, while everything runs.
# Wants MACAO_DATABASE_URL and MACAO_LOG_SERVERS with logins that own the schemas. Run again, it goes on where it was.
#
#     deploy/sql/spread-logs.sh b c d
set -eu
macao=${MACAO:-./macao}
number=0
for server in "$@"; do
    number=$((number + 1))
    log="n$number"
    if "$macao" logs | awk -v log_name="$log" -v server="$server" \
        '$1 == log_name && $2 == server { found = 1 } END { exit !found }'; then
        echo "$log lives on $server already"
    else
        "$macao" logs move "$log" --to "$server"
    fi
done
