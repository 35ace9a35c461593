#!/bin/sh
# SPDX-License-Identifier: MIT
# stalled_test.sh BUILD_FOLDER: processes are acquired while one of them is stalled in the middle of a call on a UNIX
# socket, for longer than the meter checks the queues; and threads that use one for the first time are stalled, and
# overtaken by another one. No exact edge may be wrong.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
build=$1
cd "$scratch" || exit 1
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
echo "# seed $seed (DPM_SEED repeats it)"

# Each message has a different size from those near it. On a byte stream its first bytes are received separately:
# $header.
cat > edges.jq << 'END'
(map(select(.event == "SEND") | {key: "\(.stream) \(.sequence)", value: .bytes}) | from_entries) as $bytes |
# one without a stream took a whole message unseen, with its header, while all were silent
def size: if .stream == 0 then .bytes else .bytes + $header end;
[.[] | select(.event == "RECEIVE" and .bytes > $header)] as $receives |
[$receives[] | size as $received | .edges[]? |
    {kind, right: ($bytes["\(.stream) \(.sequence)"] == $received)}] as $edges |
{
    missing: ([$receives[] | size as $received |
        select(any(.edges[]?; $bytes["\(.stream) \(.sequence)"] == $received) | not)] | length),
    receives: ($receives | length),
    exact: ($edges | map(select(.kind == "exact")) | length),
    wrong: ($edges | map(select(.kind == "exact" and (.right | not))) | length),
    inferred: ($edges | map(select(.kind == "inferred")) | length)
}
END

# acquire_stalled KIND PLACE PASSES: one acquisition.
acquire_stalled() {
    seed=$((seed + 1))
    rm -rf stalled.trace
    : > told
    "$build/tests/programs/stalled" "$1" "$2" "$3" $seed > told 2> program.err &
    program=$!
    wait_for 60 grep -q ' ' told
    # shellcheck disable=SC2046 # two pids
    "$dpm" acquire --kinds unix -o stalled.trace --ring 64M --duration 400ms $(head -n 1 told) > out 2> err
    check_equal "$1, $2, after $3 times: acquired, seed $seed" 0 $?
    sed 's/^/# /' program.err
    grep -v '^dpm: metering' err | grep '^dpm: ' | sed 's/^/# /'
    kill $program
    wait $program
    header=0
    [ "$1" != stream ] || header=2
    "$dpm" dump --json --matched --type send,receive stalled.trace > dump.json 2> dump.err
    jq -s --argjson header $header -f edges.jq dump.json > edges.json
    echo "# held up $(sed -n 2p told) times; $(jq -c . edges.json)"
    check_equal "... no exact edge is wrong" 0 "$(jq .wrong edges.json)"
}

# held_up KIND PLACE PASSES: once, when metering begins.
held_up() {
    acquire_stalled "$@"
    check_equal "... it was stalled" 1 "$(sed -n 2p told)"
    # (how many depends on the load)
    check "... and some are exact" jq -e '.exact > 0 or .receives < 20' edges.json
}

# overtaken KIND PASSES: threads that send their first message are stalled. Some others are not sent then.
overtaken() {
    acquire_stalled "$1" overtaken "$2"
    check "... it was stalled" [ "$(sed -n 2p told)" -ge 1 ]
    check "... and there are others that are exact" jq -e '.exact > 0 or .receives < 20' edges.json
    check "... and edges lead to the right ones" jq -e '.missing < .receives or .receives < 20' edges.json
}

held_up datagram sent 0
held_up datagram received 0
held_up seqpacket queued 2
for kind in datagram stream; do
    overtaken $kind 3
done
if long_ones; then
    held_up datagram queued 2
    held_up seqpacket sent 0
    held_up seqpacket received 0
    for kind in datagram seqpacket; do
        held_up $kind sent 2
        held_up $kind queued 0
    done
    overtaken seqpacket 3
    for kind in datagram seqpacket stream; do
        overtaken $kind 40
    done
else
    skip "other kinds of sockets, and places to stall" "takes long: only with ./dev test --all"
fi
finish
