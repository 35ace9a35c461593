#!/bin/sh
# SPDX-License-Identifier: MIT
# site_limits_test.sh BUILD_FOLDER: limits of a site's NATS server end a recording on other hosts in its first seconds, with
# one line that names the limit and what to do.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_programs nats-server
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
printf '#!/bin/sh\nshift; exec sh -c "$*"\n' > shell
chmod +x shell
printf 'u:p\n' > secret
chmod 600 secret
server=
trap '[ -z "$server" ] || kill $server; rm -rf "$scratch"' EXIT

jetstream="jetstream { store_dir: \"$scratch/store\", max_file_store: 20G }"
users='authorization { user: u, password: p }'

# refused NAME LINE CONFIGURATION...: with this server, nothing is recorded, and LINE is the reason.
refused() {
    name=$1 line=$2
    shift 2
    rm -rf store ./*.ports t
    printf '%s\n' 'host: 127.0.0.1' 'port: -1' "ports_file_dir: \"$scratch\"" "$@" > nats.conf
    nats-server -c nats.conf > nats.log 2>&1 &
    server=$!
    wait_for 30 sh -c 'ls nats-server_*.ports > ports 2> ls.err && grep -q "nats:" "$(cat ports)"'
    address=$(sed -n 's/.*"\(nats:[^"]*\)".*/\1/p' "$(cat ports)" | head -n 1)
    # nothing of this waits for the 30 s in which an agent must answer: --kill-after is never needed
    timeout -k 60 120 "$dpm" run -o t --fabric "$address" --credentials secret --rsh "$scratch/shell" --remote-dpm "$dpm" \
        --host h1:true > out 2> err
    check_equal "$name: the run fails" 1 $?
    check "$name: ... with the reason" grep -q "$line" err
    check_not "$name: nothing waits for an agent that does not answer" grep -q 'does not answer' err
    check_not "$name: nothing is recorded" test -e t
    kill $server
    wait $server 2> /dev/null
    server=
}

refused max_payload 'takes messages of at most 1000000 bytes, and dpm needs 1004096: increase its max_payload' \
    "$jetstream" "$users" 'max_payload: 1000000'
refused max_subscriptions 'has ended the connection: maximum subscriptions exceeded: increase its max_subscriptions' \
    "$jetstream" "$users" 'max_subscriptions: 2'
refused max_connections 'increase.* max_connections' "$jetstream" "$users" 'max_connections: 1'
refused JetStream 'has no JetStream: enable it' "$users"
refused password 'refuses the credentials of user u: check them' "$jetstream" 'authorization { user: u, password: other }'
refused storage 'insufficient storage resources available: increase its max_file_store' "$users" \
    "jetstream { store_dir: \"$scratch/store\", max_file_store: 10M }"
refused requests 'what its agent is asked: .*Permissions Violation for Publish to "dpm.*.control": allow it' "$jetstream" \
    'authorization { users: [ { user: u, password: p, permissions: { publish: { deny: "dpm.*.*.control" } } } ] }'
# shellcheck disable=SC2016 # a subject
refused answers 'Permissions Violation for Publish to "$JS.API.CONSUMER.MSG.NEXT.*: allow it' "$jetstream" \
    'authorization { users: [ { user: u, password: p, permissions: { publish: { deny: "$JS.API.CONSUMER.MSG.NEXT.>" } } } ] }'
finish
