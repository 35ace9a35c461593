#!/bin/sh
# SPDX-License-Identifier: MIT
# commit.sh before|after: postgres syncs its log at each commit, and then does not wait for that. The database is on a disk: in
# the folder DISK, /var/tmp.
. "$(dirname "$0")/case.inc"
. "$folder/postgres.inc"
change='--wait postgres,disk=0'
programs='postgres pgbench'
needs='pgbench'
packages='postgresql'

start() {
    commit=on
    [ "$setting" = before ] || commit=off
    start_postgres 18085 -c synchronous_commit=$commit
    pgbench -h 127.0.0.1 -p 18085 -U postgres -i -s 1 postgres > "$scratch/made" 2>&1
    cat > "$scratch/update.sql" << 'END'
\set aid random(1, 100000)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
END
}

load() {
    pgbench -h 127.0.0.1 -p 18085 -U postgres -n -c 1 -T "$seconds" -f "$scratch/update.sql" postgres 2>&1 | of_pgbench
}

play
