#!/bin/sh
# SPDX-License-Identifier: MIT
# site_server_test.sh BUILD_FOLDER: dpm run --host over a NATS server of the site, with TLS, users and permissions as
# docs/control-protocol.md lists them, in place of one of the session's own: the streams go with the session; what the
# server refuses is one line.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs nats-server openssl jq
. "$(dirname "$0")/local_hosts.sh"
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
server=
trap 'end_local_hosts; [ -z "$server" ] || kill "$server"; rm -rf "$scratch"' EXIT

# ---- the site's server ----

{
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
    openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr
    echo subjectAltName=DNS:localhost > names
    openssl x509 -req -days 2 -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out server.pem
} > openssl.out 2>&1 || skip_all "no certificates can be made: $(tail -n 1 openssl.out)"
cat > nats.conf << END
host: 127.0.0.1
port: -1
ports_file_dir: "$scratch"
log_file: "$scratch/nats.log"
jetstream { store_dir: "$scratch/store", max_file_store: 1G }
tls { cert_file: "$scratch/server.pem", key_file: "$scratch/server.key" }
authorization {
    users: [
        { user: control, password: c0 }
        { user: agents, password: a0
          permissions: {
            publish: [ "dpm.*.*.packets.>", "dpm.*.*.notice", "dpm.*.*.output.>", "\$JS.API.DIRECT.GET.>" ]
            subscribe: [ "dpm.*.*.control", "_INBOX_a.>", "_INBOX_b.>" ]
            allow_responses: { max: 1, expires: "1h" }
          } }
        { user: nothing, password: n0, permissions: { publish: "none", subscribe: "_INBOX.>" } }
    ]
}
END
nats-server -c nats.conf &
server=$!
# shellcheck disable=SC2317 # called by wait_for
has_ports() { jq -e '.nats[0]' nats-server_*.ports > ports; }
wait_for 20 has_ports || skip_all "nats-server does not start: $(tail -n 1 nats.log)"
port=$(jq -r 'sub(".*:"; "")' ports)
(umask 077 && echo control:c0 > control && echo agents:a0 > agents_secret && echo control:no > wrong && echo nothing:n0 > nothing)

# on ARGUMENT...: dpm run over that server. With its output in out and err; returns its status.
on() {
    timeout 60 "$dpm" run --rsh "$scratch/rsh" --remote-dpm "$dpm" --fabric "tls://localhost:$port" \
        "$@" > out 2> err < /dev/null
}

# ---- a session ----

on --fabric-ca ca.pem --credentials control --agent-credentials agents_secret --fabric-disk 64M -o one --session one \
    --host a:'sh -c "echo one; cat /etc/passwd > /dev/null"' --host b:'sh -c "cat '"$scratch"'/nats.conf > /dev/null; echo two"'
check_equal "two hosts are metered over the site's server" 0 $?
check_equal "... with their output" "a: one
b: two" "$(LC_ALL=C sort out)"
check "... and their traces" grep -q '^dpm: [1-9][0-9]* records of 2 hosts, 0 lost, in one$' err
check "... which can be read" "$dpm" stats one/a one/b
check "... no server of its own runs" test -z "$(servers)"
check_equal "the session is gone here" "" "$(ls "$sessions")"
"$dpm" filter --from one --fabric "tls://localhost:$port" --fabric-ca ca.pem --credentials control --store none 2> err
check "... and its streams there" grep -q "there is no session 'one'" err
check_equal "... with all that they held" 0 "$(find store -name '*.blk' | wc -l)"

# ---- its dpm is killed, and another one goes on ----

# killed NAME: a recording over that server, whose dpm was killed
killed() {
    rm -f go
    "$dpm" run --rsh "$scratch/rsh" --remote-dpm "$dpm" --fabric "tls://localhost:$port" --fabric-ca ca.pem --credentials control \
        --agent-credentials agents_secret --fabric-disk 64M -o "$1" --session "$1" --kinds pipe --host \
        a:'sh -c "echo one | cat; until [ -e go ]; do sleep 0.1; done; echo two | cat"' > out 2> err < /dev/null &
    controller=$!
    wait_for 60 test -s "$1/a/data"
    kill -9 $controller
    wait $controller 2> wait.err
}
# ended NAME: what a recording has, and whether anything is left of it
ended() {
    "$dpm" stats --json "$1/a" 2> stats.err | jq -r '"\(.trace.complete) \(.trace.lost) \([.processes[] | select(.name == "cat").received.messages] | add)"'
    ls "$sessions"
    find store -name '*.blk'
}
killed two
check_equal "its agent serves no other session of the same name" "two.$(jq -r .id "$sessions/two/site.json")" \
    "$(cd "$scratch"/state/a/dpm/*/agents && echo two*)"
(cd / && timeout 60 "$dpm" job --session two --attach jobs main) > job.out 2> job.err
check "dpm job goes on, without being told of the server" grep -q 'running *sh *a *all' job.out
timeout 100 "$dpm" filter --from two --store none --json > filter.json 2> filter.err &
filter=$!
check "... and so does a filter" wait_for 30 grep -q '"machine":"a"' filter.json
kill $filter
: > go
timeout 60 "$dpm" job --session two --attach wait main > job.out 2> job.err
check "... with the output" grep -q '^sh@a: two$' job.out
timeout 60 "$dpm" job --session two --attach die > job.out 2> job.err
check_equal "... and ends it in order" "true 0 2" "$(ended two)"
killed three
(sleep 1; : > go) &
(cd / && timeout 60 "$dpm" acquire --attach three) > job.out 2> job.err
check_equal "dpm acquire does, too" "0 true 0 2" "$? $(ended three)"
check "no agent stays" wait_for 30 no_agents

# ---- what is refused ----

# refuses TEXT ARGUMENT...: dpm ends with 1 and one line with this text, and leaves no session.
refuses() {
    text=$1
    shift
    on "$@" --host a:true
    check_equal "refused: $text" "1 1 1" "$? $(grep -c "$text" err) $(grep -vc 'cannot connect to this host$' err)"
    sed 's/^/# /' err
}
refuses "refuses the credentials of user control" --fabric-ca ca.pem --credentials wrong
refuses "ertificate" --credentials control
refuses "insufficient storage resources" --fabric-ca ca.pem --credentials control --fabric-disk 4G
refuses "a: the connection has ended.*refuses the credentials" --fabric-ca ca.pem --credentials control --agent-credentials wrong \
    --fabric-disk 64M
refuses "nats://localhost:$port: its server wants encryption: write tls://localhost:$port" --fabric-ca ca.pem --credentials control \
    --fabric "nats://localhost:$port"
if long_ones; then
    refuses "no server answers" --fabric-ca ca.pem --credentials control --fabric nats://localhost:1
    refuses "ermissions" --fabric-ca ca.pem --credentials nothing
    refuses "none: No such file" --fabric-ca ca.pem --credentials control --agent-credentials none
fi
check_equal "no session stays" "" "$(ls "$sessions")"
check "no agent stays" wait_for 30 no_agents
finish
