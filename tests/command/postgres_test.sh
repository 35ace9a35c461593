#!/bin/sh
# SPDX-License-Identifier: MIT
# postgres_test.sh BUILD_FOLDER: a database, which creates a process for each connection, is acquired with its descendants
# while pgbench works. Each later backend in its log must be in the trace with its connection, over TCP and UNIX sockets; and
# the backends have received what pgbench reports.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs initdb postgres pgbench psql
cd "$scratch" || exit 1
port=$(free_port)

# The server refuses to run as root.
chmod 755 .
mkdir data
chown nobody data
as_nobody() {
    setpriv --reuid nobody --regid nogroup --clear-groups env LC_ALL=C "$@"
}
server=
trap '[ -z "$server" ] || kill -INT $server; wait; rm -rf "$scratch"' EXIT
as_nobody initdb -D data -A trust -U nobody --no-sync > initdb.out 2>&1 ||
    skip_all "initdb fails: $(tail -n 1 initdb.out)"
cat >> data/postgresql.conf << CONF
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$scratch/data'
log_connections = on
log_line_prefix = '%n %p '
log_statement = all
fsync = off
autovacuum = off
CONF
# setpriv becomes env, which becomes the server
setpriv --reuid nobody --regid nogroup --clear-groups \
    env LC_ALL=C postgres -D data > log 2>&1 &
server=$!
bench() {
    PGUSER=nobody timeout 60 pgbench -p $port "$@" postgres
}
ask() {
    PGUSER=nobody psql -h 127.0.0.1 -p $port -At -c "$1" postgres
}
check "the server answers" wait_for 30 ask "select 1"
bench -h 127.0.0.1 -i -q > init.out 2>&1
# it has no debug information, but exports its variables
check_equal "its variables are what it says itself" "$server $(ask "show max_connections") 0" "$("$dpm" view probe --json $server \
    '*(int *)&MyProcPid' '*(int *)&MaxConnections' '*(bool *)&IsUnderPostmaster' | jq .value | paste -sd ' ')"

# ---- acquired while connections of both kinds are in use ----

PGUSER=nobody timeout 60 pgbench -p $port -h 127.0.0.1 -n -S -c 3 -T 50 -R 200 postgres > old-tcp 2>&1 &
old_tcp=$!
PGUSER=nobody timeout 60 pgbench -p $port -h "$scratch/data" -n -S -c 3 -T 50 -R 200 postgres > old-unix 2>&1 &
old_unix=$!
# all_ask: whether each connection of both has asked something
all_ask() {
    ask "select pid from pg_stat_activity where query like 'SELECT abalance%'" | sort > old-pids
    [ "$(wc -l < old-pids)" = 6 ]
}
wait_for 30 all_ask
check "it is taken over under load" take_over -o postgres.trace --ring 64M --descendants -p $server
begun=$(date +%s.%N)
PGSSLMODE=disable bench -h 127.0.0.1 -n -S -c 4 -t 100 > new-tcp 2>&1
bench -h "$scratch/data" -n -S -c 4 -t 100 > new-unix 2>&1
bench -h "$scratch/data" -n -S -C -c 2 -t 10 > each 2>&1
kill $old_tcp $old_unix
wait $old_tcp $old_unix 2> wait.err
has_backends() {
    [ "$(pgrep -c -P $server -f '^postgres: nobody ')" = "$1" ]
}
wait_for 30 has_backends 0 # each has read its client's last message
let_go
check_equal "... and released cleanly" 0 $?
check "... it runs on" kill -0 $server

"$dpm" dump --json postgres.trace 2> dump.err > records.json
check_equal "no record is lost" "" "$(grep lost dump.err)"
"$dpm" stats --json postgres.trace > stats.json 2> stats.err

# ---- every backend ----

awk -v begun="$begun" '$1 > begun && /connection received/ { print $2 }' log | sort > new-pids
jq -r '.processes[] | select(.program == "postgres") | .pid' stats.json | sort > traced
check "backends came up later" test 28 -le "$(wc -l < new-pids)"
check_equal "each of them is a process of the trace" "" "$(comm -23 new-pids traced)"
check_equal "each that was there before, too" "6 " "$(wc -l < old-pids) $(comm -23 old-pids traced)"
check_equal "the later ones are children of the server" "" "$(jq -r --argjson server $server '
    (.processes[] | select(.pid == $server).id) as $id | .processes[] | select(.parent == $id).pid' \
    stats.json | sort | comm -23 new-pids -)"
# pids_of FILTER: processes with a message on a path that the filter selects.
pids_of() {
    jq -r "select((.event == \"RECEIVE\" or .event == \"SEND\") and ($1)).pid" records.json | sort -u
}
awk -v begun="$begun" '$1 > begun && /connection received: host=127/ { print $2 }' log | sort > tcp-pids
awk -v begun="$begun" '$1 > begun && /connection received: host=\[local\]/ { print $2 }' log | sort > unix-pids
check_equal "each over TCP has used its connection" "" \
    "$(pids_of ".kind == \"tcp\" and .local == \"127.0.0.1:$port\"" | comm -23 tcp-pids -)"
check_equal "each over a UNIX socket has used its connection" "" \
    "$(pids_of '.kind == "unix-stream"' | comm -23 unix-pids -)"

# the ports in the log are those of the paths
check_equal "ports are those of the log" \
    "$(awk -v begun="$begun" '$1 > begun && /host=127/ { sub(".*port=", ""); print }' log | sort)" \
    "$(jq -r "select(.event == \"PATH\" and .kind == \"tcp\" and .local_port == $port and .older != true)
        .remote_port" records.json | sort -u)"

# With -S a transaction is one query: one message to the backend and one back. Each connection has two more messages to
# the backend, at its beginning and at its end.
check_equal "pgbench has done all of it" "400 400" "$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' \
    new-tcp new-unix | xargs)"
check_equal "over TCP, backends have received what pgbench has done" "102 102 102 102" "$(jq -r -s "
    map(select(.event == \"RECEIVE\" and .kind == \"tcp\" and .bytes > 0)) | group_by(.pid)[] |
    length" records.json | grep -x 102 | xargs)"

# The server logs each statement: a message Q, 6 bytes longer. Before the first one comes the message that begins the
# connection, after the last one the message that ends it, of 5 bytes. (In another locale awk counts characters.)
sort new-pids > connected
LC_ALL=C awk -v begun="$begun" 'NR == FNR { known[$1] = 1; next }
    $1 > begun && ($2 in known) && / LOG:  statement: / {
        pid = $2
        sub(/.* LOG:  statement: /, "")
        count[pid]++
        bytes[pid] += length($0) + 6
    }
    END { for (pid in known) print pid, count[pid] + 2, bytes[pid] + 5 }' connected log | sort > logged
jq -r -s 'map(select(.event == "RECEIVE" and .bytes > 0 and
        (.kind == "unix-stream" or (.kind == "tcp" and .local == "127.0.0.1:'"$port"'")))) | group_by(.pid)[] |
    "\(.[0].pid) \(length) \(.[1:] | map(.bytes) | add)"' records.json | sort |
    join connected - > received
check "the log has hundreds of statements" awk '{ all += $2 } END { exit all < 800 }' logged
check_equal "each backend has received as many messages, of as many bytes, as it has logged" "" \
    "$(diff logged received | head -n 5)"

# the same as requests: a signature of one letter for each backend
"$dpm" causality --json postgres.trace > causality.json 2> causality.err
check "as requests, 8 backends have got what pgbench has done" jq -e \
    '[.strings[] | select(.count == 102 and (.string | test("^[A-Za-z][0-9]*$")))] | length >= 8' causality.json
check "... and replied to all but the last, the end of the connection" jq -e \
    '[.replies[] | select(.count == 101)] | length >= 8' causality.json

# ---- both ends metered ----

# Their connections are older than the metering: each has sent its first statement, which waits for a lock.
mkfifo locked
PGUSER=nobody psql -h 127.0.0.1 -p $port -q postgres < locked > locker.out 2>&1 &
locker=$!
exec 9> locked
echo "select pg_advisory_lock(7);" >&9
# count_locks GRANTED COUNT: whether there are as many of them
count_locks() {
    [ "$(ask "select count(*) from pg_locks where locktype = 'advisory' and granted = $1")" = "$2" ]
}
check "a connection holds the lock" wait_for 30 count_locks true 1
echo "select pg_advisory_lock_shared(7); select pg_advisory_unlock_shared(7);" > statements
PGSSLMODE=disable bench -h 127.0.0.1 -n -f statements -c 2 -t 500 > both-tcp 2>&1 &
both_tcp=$!
bench -h "$scratch/data" -n -f statements -c 2 -t 500 > both-unix 2>&1 &
both_unix=$!
check "four connections wait for it" wait_for 30 count_locks false 4
take_over -o both.trace --ring 64M --descendants -p $server -p $both_tcp -p $both_unix -p $locker
echo "select pg_advisory_unlock(7);" >&9
wait $both_tcp $both_unix
wait_for 30 has_backends 1 # that of psql
let_go
exec 9>&-
"$dpm" stats --json both.trace > stats.json 2> stats.err
check_equal "pgbench has done all of it" "1000 1000" "$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' \
    both-tcp both-unix | xargs)"
# 2,000 transactions of two statements, each with its answer; the first statement of each connection came before
check "of both, thousands of messages are matched" jq -e '.trace.matching.exact >= 2 * 2 * 2000 - 4' stats.json
check_equal "... none is left over, at either end" "0 0" \
    "$(jq -r '.trace.matching | "\(.unmatched_sends) \(.unmatched_receives)"' stats.json)"

# for each kind of socket: exact edges, others, RECEIVEs without one, and SENDs that no edge leads to
"$dpm" dump --matched --json both.trace 2> dump.err > both.json
# (of this server: others of the same name may run here)
jq -s --arg server "127.0.0.1:$port" '
    map(select(.kind != "tcp" or .local == $server or .remote == $server)) |
    [.[] | select(.event == "RECEIVE" and .bytes > 0)] as $receives |
    [.[] | select(.event == "SEND" and .bytes > 0)] as $sends |
    ([$receives[].edges[]? | {key: "\(.stream) \(.sequence)", value: true}] | from_entries) as $received |
    ["tcp", "unix-stream"] | map(. as $kind | {key: $kind, value: {
        exact: [$receives[] | select(.kind == $kind).edges[]? | select(.kind == "exact")] | length,
        others: [$receives[] | select(.kind == $kind).edges[]? | select(.kind == "ordered" or .kind == "inferred")] | length,
        unmatched: [$receives[] | select(.kind == $kind and .rest.why == "unmatched")] | length,
        left: [$sends[] | select(.kind == $kind and $received["\(.stream) \(.sequence)"] == null)] | length}}) |
    from_entries' both.json > edges.json
for kind in tcp unix-stream; do
    check "... $kind: hundreds of edges" jq -e ".\"$kind\".exact > 500" edges.json
    check_equal "... $kind: all are exact, no RECEIVE is unmatched, and no SEND is left over" "0 0 0" \
        "$(jq -r ".\"$kind\" | \"\(.others) \(.unmatched) \(.left)\"" edges.json)"
done
finish
