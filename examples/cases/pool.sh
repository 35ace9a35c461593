#!/bin/sh
# SPDX-License-Identifier: MIT
# pool.sh before|after: a pool of 2 connections to postgres, and then of 16, for 16 clients; a query waits 20 ms.
#
. "$(dirname "$0")/case.inc"
. "$folder/postgres.inc"
change='--replicas postgres=16'
programs='pgbouncer postgres pgbench'
needs='pgbouncer pgbench'
packages='postgresql pgbouncer'

start() {
    connections=2
    [ "$setting" = before ] || connections=16
    start_postgres 18083
    cat > "$scratch/pool.ini" << END
[databases]
postgres = host=127.0.0.1 port=18083 user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = 18084
auth_type = any
unix_socket_dir =
pool_mode = transaction
default_pool_size = $connections

END
    chown postgres "$scratch/pool.ini"
    serve setpriv --reuid postgres --regid postgres --clear-groups pgbouncer "$scratch/pool.ini"
    ready 18084
    echo 'SELECT pg_sleep(0.02);' > "$scratch/query.sql"
}

load() {
    pgbench -h 127.0.0.1 -p 18084 -U postgres -n -c 16 -j 1 -T "$seconds" -f "$scratch/query.sql" postgres 2>&1 | of_pgbench
}

play
