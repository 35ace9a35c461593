#!/bin/sh
# SPDX-License-Identifier: MIT
# trips.sh before|after: twenty single selects, each of which waits for the answer to the one before, and then all of them in one
# message. Requests a second: selects.
. "$(dirname "$0")/case.inc"
. "$folder/postgres.inc"
change='--merge pgbench>postgres=20'
programs='postgres pgbench'
needs='pgbench'
packages='postgresql'

start() {
    end=' \;'
    [ "$setting" = after ] || end=';'
    start_postgres 18086
    pgbench -h 127.0.0.1 -p 18086 -U postgres -i -s 1 postgres > "$scratch/made" 2>&1
    for i in $(seq 20); do
        echo "\\set aid$i random(1, 100000)"
    done > "$scratch/select.sql"
    for i in $(seq 19); do
        echo "SELECT abalance FROM pgbench_accounts WHERE aid = :aid$i$end"
    done >> "$scratch/select.sql"
    echo "SELECT abalance FROM pgbench_accounts WHERE aid = :aid20;" >> "$scratch/select.sql"
}

load() {
    pgbench -h 127.0.0.1 -p 18086 -U postgres -n -c 1 -T "$seconds" -f "$scratch/select.sql" postgres 2>&1 | awk '/^tps/ { print 20 * $3, "-" }'
}

play
