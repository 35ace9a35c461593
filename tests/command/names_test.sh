#!/bin/sh
# SPDX-License-Identifier: MIT
# names_test.sh BUILD_FOLDER: users, cgroups and containers of processes, by name. Two programs communicate over TCP
# under one `dpm run`:
#
#     server   user ghost (54321)   cgroup docker-ID.scope
#      client   root                 cgroup web.service       PID namespace of its own
#
# The user exists only in the mount namespace of the recording, and the cgroups are removed before the trace is read:
# the names can then only come from the trace.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
cd "$scratch" || exit 1

cgroup_mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$cgroup_mount" ] || skip_all "no cgroup2 is mounted"
here=$cgroup_mount/dpm-names-$$
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
server=$here/docker-$id.scope
client=$here/web.service
remove_cgroups() {
    rmdir "$server" "$client" "$here" 2> rmdir.err
}
trap 'remove_cgroups; rm -rf "$scratch"' EXIT
mkdir "$here" "$server" "$client" 2> err || skip_all "cannot make a cgroup: $(cat err)"
unshare --mount --pid --fork true 2> err || skip_all "cannot make namespaces: $(cat err)"
server_cgroup=$(stat -c %i "$server")

# ---- the recording ----

cat > talk.py << 'END'
import os, socket, sys, time

role, port_file = sys.argv[1:]
if role == "server":
    listener = socket.create_server(("127.0.0.1", 0))
    with open(port_file, "w") as file:
        file.write(f"{listener.getsockname()[1]}\n")
    connection, _ = listener.accept()
    while connection.recv(4096):
        pass
    connection.sendall(b"x" * 10)
else:
    while not open(port_file).read().endswith("\n"):
        time.sleep(0.01)
    connection = socket.create_connection(("127.0.0.1", int(open(port_file).read())))
    for _ in range(7):
        connection.sendall(b"x" * 100)
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(4096):
        pass
    print(os.getpid(), os.readlink("/proc/self/ns/pid"))
END
cat > both.sh << END
(echo 0 > "$server/cgroup.procs"
    exec setpriv --reuid 54321 --regid 54321 --clear-groups /usr/bin/python3 talk.py server port) &
(echo 0 > "$client/cgroup.procs"
    exec unshare --pid --fork /usr/bin/python3 talk.py client port)
wait
END
chmod 755 .
touch port
chmod 666 port
{ cat /etc/passwd; echo 'ghost:x:54321:54321::/:/bin/sh'; } > passwd
# shellcheck disable=SC2016 # $1 is that of the inner shell
timeout 60 unshare --mount sh -c 'mount --bind passwd /etc/passwd &&
    exec "$1" run --kinds tcp -o both.trace -- sh both.sh' sh "$dpm" > out 2> err
check_equal "the recording succeeds" 0 $?
check "... and the client has run as process 1 of its namespace" grep -q '^1 pid:\[[0-9]*\]$' out
namespace=$(sed 's/.*\[\(.*\)\]/\1/' out)
remove_cgroups
check_not "the cgroups are gone, and the user is" sh -c "test -e '$here' || getent passwd ghost"

# ---- dpm dump ----

"$dpm" dump --json both.trace > records.json 2> dump.err
# last_stream NAME: a field of the last STREAM of python3 with that user.
last_stream() {
    jq -c -s "[.[] | select(.event == \"STREAM\" and .user == $1 and .name == \"python3\")] | .[-1]" \
        records.json
}
check_equal "the server's user and cgroup, by number and name" \
    "[54321,\"ghost\",$server_cgroup,\"/dpm-names-$$/docker-$id.scope\"]" \
    "$(last_stream 54321 | jq -c '[.user, .user_name, .cgroup, .cgroup_name]')"
check_equal "the client's" "[0,\"root\",\"/dpm-names-$$/web.service\"]" \
    "$(last_stream 0 | jq -c '[.user, .user_name, .cgroup_name]')"
check_equal "... and its pid inside of its namespace" "[1,$namespace]" \
    "$(last_stream 0 | jq -c '[.pid_inside, .pid_namespace]')"
check_equal "the server is in the namespace of this test" \
    "[true,$(readlink /proc/self/ns/pid | tr -dc 0-9)]" \
    "$(last_stream 54321 | jq -c '[.pid_inside == .pid, .pid_namespace]')"
check_equal "no name of a user or cgroup is recorded twice" "" \
    "$(jq -c 'select(.event == "NAME" and .kind != 3) | [.kind, .number]' records.json | sort | uniq -d)"
check_equal "each STREAM finds its names, the first one too" 0 \
    "$(jq -s '[.[] | select(.event == "STREAM" and (has("user_name") and has("cgroup_name") | not))]
        | length' records.json)"
"$dpm" dump --type stream both.trace > text 2> dump.err
check "as text" grep -q "STREAM .*user root, cgroup /dpm-names-$$/web.service, \
pid inside 1 in PID namespace $namespace\$" text
check_equal "--user chooses the records of a user's processes" \
    "$(jq -c 'select(.event == "SEND" and .bytes == 10)' records.json)" \
    "$("$dpm" dump --user ghost --type send --json both.trace 2> dump.err)"
check_equal "--container those of a container's" "7 700" \
    "$("$dpm" dump --container web.service --type send --json both.trace 2> dump.err |
        jq -r -s '"\(length) \(map(.bytes) | add)"')"

# ---- dpm stats ----

"$dpm" stats both.trace > text 2> stats.err
check "the table of processes names user and container" \
    grep -q -E '^python3 .* [0-9]+ .* ghost +0123456789ab ' text
"$dpm" stats --json both.trace > process.json 2> stats.err
check_equal "as in JSON" "[54321,\"ghost\",$server_cgroup,\"/dpm-names-$$/docker-$id.scope\",\
\"0123456789ab\",\"python3\"]" \
    "$(jq -c '.processes[] | select(.user == 54321) |
        [.user, .user_name, .cgroup, .cgroup_name, .container, .program]' process.json)"
check_equal "... with the pid inside" "[\"web.service\",1,$namespace]" \
    "$(jq -c '.processes[] | select(.pid_inside == 1) |
        [.container, .pid_inside, .pid_namespace]' process.json)"

# sums KEY: totals of the processes for each value of KEY, as the groups should show them.
sums() {
    jq -S -c ".processes | group_by(.$1)[] | {name: .[0].$1, processes: length,
        cpu_ns: (map(.cpu_ns) | add),
        sent: {messages: (map(.sent.messages) | add), bytes: (map(.sent.bytes) | add)},
        received: {messages: (map(.received.messages) | add),
            bytes: (map(.received.bytes) | add)}}" process.json | sort
}
for by in user container program; do
    "$dpm" stats --json --by $by both.trace > $by.json 2> stats.err
    key=$by
    [ $by != user ] || key=user_name
    check_equal "--by $by sums up the processes" "$(sums $key)" \
        "$(jq -S -c '.groups[] | {cpu_ns, name, processes, sent, received}' $by.json | sort)"
    check_equal "... and all that was sent" \
        "$(jq -c '[.pairs[].messages, .pairs[].bytes] | add' process.json)" \
        "$(jq -c '[.pairs[].messages, .pairs[].bytes] | add' $by.json)"
done
check_equal "--by namespace: the numbers of the PID namespaces" \
    "$(jq -c '[.processes | group_by(.pid_namespace)[] | ["\(.[0].pid_namespace)", length,
        (map(.sent.bytes) | add)]]' process.json)" \
    "$("$dpm" stats --json --by namespace both.trace 2> stats.err |
        jq -c '[.groups[] | [.name, .processes, .sent.bytes]] | sort')"
# pairs_by WHAT: senders and receivers, by name.
pairs_by() {
    jq -r '(.groups | map({key: "\(.id)", value: .name}) | from_entries) as $name | .pairs[] |
        "\($name["\(.from)"]) > \($name["\(.to)"]) \(.messages) \(.bytes)"' "$1.json"
}
check_equal "which container talks to which" "web.service > 0123456789ab 7 700
0123456789ab > web.service 1 10" "$(pairs_by container)"
check_equal "which user talks to which" "root > ghost 7 700
ghost > root 1 10" "$(pairs_by user)"
check_equal "a program talks to itself" "python3 > python3 8 710" "$(pairs_by program)"

# ---- ways to the names of cgroups ----

# cgroup_of COMMAND...: runs the command, which makes the trace way.trace, in the client's cgroup; prints the cgroup in
# the trace.
mkdir "$here" "$client"
cgroup_of() {
    rm -rf way.trace
    timeout 60 sh -c "echo 0 > '$client/cgroup.procs'; exec \"\$@\"" sh "$@" > out 2> err
    "$dpm" dump --json --type stream way.trace | jq -r .cgroup_name | sort -u | xargs
}
check_equal "with all privileges" "/dpm-names-$$/web.service" \
    "$(cgroup_of "$dpm" run --kinds pipe --flags exec,termination -o way.trace -- true)"
check_equal "without the one for file handles" "/dpm-names-$$/web.service" \
    "$(cgroup_of setpriv --bounding-set -dac_read_search "$dpm" run --kinds pipe --flags exec,termination -o way.trace -- true)"
# shellcheck disable=SC2016 # $1 is that of the inner shell
check_equal "where cgroup2 is mounted nowhere" "/dpm-names-$$/web.service" \
    "$(cgroup_of unshare --mount sh -c 'umount --lazy --all --types cgroup2 &&
        ! grep -q " cgroup2 " /proc/self/mounts &&
        exec "$1" run --kinds pipe --flags exec,termination -o way.trace -- true' sh "$dpm")"
# ---- names of hosts ----

# An unmonitored server has an address, and with --resolve the name from the resolver.
python3 -c '
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    connection.sendall(connection.recv(100))
' > server.port &
server=$!
wait_for 30 test -s server.port
port=$(cat server.port)
"$dpm" run --kinds tcp --flags send,receive,connect -o client.trace -- python3 -c "
import socket
connection = socket.create_connection(('127.0.0.1', $port))
connection.sendall(b'hello')
connection.recv(100)" > out 2> err
kill $server
name=$(getent hosts 127.0.0.1 | awk '{ print $2; exit }')
check_equal "an unmonitored end is shown by its address" "127.0.0.1:$port" \
    "$("$dpm" stats --json client.trace | jq -r '.pairs[].to | strings')"
if [ -n "$name" ]; then
    check_equal "--resolve shows its name" "$name:$port" \
        "$("$dpm" stats --json --resolve client.trace | jq -r '.pairs[].to | strings')"
    check_equal "... of paths, too" "$name:$port" \
        "$("$dpm" stats --json --resolve client.trace |
            jq -r '.paths[] | select(.kind == "tcp").remote')"
else
    skip "--resolve" "the resolver knows no name of 127.0.0.1"
fi
finish
