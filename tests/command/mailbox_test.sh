#!/bin/sh
# SPDX-License-Identifier: MIT
# mailbox_test.sh BUILD_FOLDER: several senders, one UDP socket, several threads that receive from it: a RECEIVE leads
# to the SEND of the datagram that its thread got, or is marked as uncertain. (SEED=N repeats a random run.)
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
mailbox=$1/tests/programs/mailbox
seed=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
cd "$scratch" || exit 1

"$dpm" run --meter kernel -o probe.udp -- "$mailbox" 1 1 1 0 0 0 16 127.0.0.1 1 log > out 2> err
! grep -q 'UDP is not metered' err || skip_all "$(grep -m 1 'UDP is not metered' err)"
echo "# SEED=$seed"

# The n-th RECEIVE of each thread is its n-th line in the log; the n-th SEND of a sender has the number n.
cat > compare.jq << 'END'
($log | split("\n") | map(select(. != "") | split(" ")) | group_by(.[0]) |
    map({key: .[0][0], value: map(.[1] + " " + .[2])}) | from_entries) as $got |
(map(select(.event == "SEND")) | group_by(.stream) |
    map(to_entries | map({key: "\(.value.stream) \(.value.sequence)", value: "\(.value.pid) \(.key)"})) |
    add | from_entries) as $sent |
(map(select(.event == "RECEIVE")) | group_by(.tid) | map({key: "\(.[0].tid)", value: .}) | from_entries) as $received |
[$got | keys[] | . as $thread | range($got[$thread] | length) | {
    truth: $got[$thread][.],
    edges: [$received[$thread][.].edges[]? | {kind, number: $sent["\(.stream) \(.sequence)"]}],
    nobody: ($received[$thread][.].remote | endswith(":0"))
}] |
{
    logged: (($got | map_values(length)) == ($received | map_values(length))),
    received: length,
    exact: map(select(.edges == [{kind: "exact", number: .truth}])) | length,
    inferred: map(select(.edges == [{kind: "inferred", number: .truth}])) | length,
    inferred_wrong: map(select(.edges[0].kind == "inferred" and .edges[0].number != .truth)) | length,
    exact_wrong: map(select(.edges[0].kind == "exact" and .edges[0].number != .truth)) | length,
    unknown: map(select(.edges == [])) | length,
    nobody: map(select(.nobody)) | length
}
END

# holds CONDITION: checks the result.
holds() {
    jq -e "$1" found.json
}

# try NAME FLAGS SENDERS RECEIVERS COUNT REST BUFFER PAUSE SIZE ADDRESS: one run.
try() {
    name=$1
    flags=$2
    shift 2
    seed=$((seed + 1))
    rm -rf mailbox.trace
    "$dpm" run --meter kernel -o mailbox.trace --wait --ring 64M --flags "$flags" -- "$mailbox" "$@" $seed log > out 2> err
    "$dpm" dump --matched --json mailbox.trace > mailbox.json 2> dump.err
    jq -s -f compare.jq --rawfile log log mailbox.json > found.json
    echo "# $* $seed: $(jq -c . found.json)"
    check "$name: each RECEIVE is one of the program's own" holds '.logged and .received > 500'
    check "... those that are called exact are, but for one in 300" holds '.exact_wrong * 300 <= .received'
    check "... what is not known does not matter" holds '.unknown * 100 <= .received'
    check "... and nearly all is right" holds '(.exact + .inferred) * 10 >= .received * 8'
    check_equal "... what is not known is counted" "$(jq .unknown found.json)" \
        "$("$dpm" stats --json mailbox.trace | jq .trace.matching.unmatched_receives)"
    check "... and only that has no sender" holds '.nobody <= .unknown'
}

few=send,receive
try "two senders, one thread" $few 2 1 3000 100 0 0 16 127.0.0.1
try "two senders, one thread, a full queue" $few 2 1 8000 0 4000 30 16 127.0.0.1
try "two senders, two threads" all 2 2 3000 100 0 0 16 127.0.0.1
try "... of which no sleep is seen" $few 2 2 3000 100 0 0 16 ::1
try "two senders, two threads, a full queue" all 2 2 8000 0 4000 30 16 127.0.0.1
check "... (it was)" holds '.received < 16000'
try "... and datagrams of any size" $few 2 2 8000 0 0 0 0 127.0.0.1
for run in 1 2; do
    try "four senders, four threads, run $run" all 4 4 2000 100 0 0 16 127.0.0.1
    try "three senders, four threads, a full queue, run $run" $few 3 4 5000 0 20000 0 16 127.0.0.1
done
finish
