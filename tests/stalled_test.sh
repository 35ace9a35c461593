#!/bin/sh
# SPDX-License-Identifier: MIT
# stalled_test.sh BUILD_FOLDER: processes are acquired while one of them is held up in the middle of a call on a UNIX
# socket, longer than the meter looks at the queues: no edge that is called exact may be wrong.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
cd "$scratch" || exit 1
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
echo "# seed $seed (DPM_SEED repeats it)"

# Each message has another size than those near by.
cat > edges.jq << 'END'
(map(select(.event == "SEND") | {key: "\(.stream) \(.sequence)", value: .bytes}) | from_entries) as $bytes |
[.[] | select(.event == "RECEIVE" and .bytes > 0)] as $receives |
[$receives[] | .bytes as $received | .edges[]? |
    {kind, right: ($bytes["\(.stream) \(.sequence)"] == $received)}] as $edges |
{
    receives: ($receives | length),
    exact: ($edges | map(select(.kind == "exact")) | length),
    wrong: ($edges | map(select(.kind == "exact" and (.right | not))) | length),
    inferred: ($edges | map(select(.kind == "inferred")) | length)
}
END

# try KIND PLACE PASSES: one acquisition.
try() {
    seed=$((seed + 1))
    rm -rf stalled.trace
    "$1/tests/stalled" "$2" "$3" "$4" $seed > told 2> program.err &
    program=$!
    wait_for 10 grep -q ' ' told
    # shellcheck disable=SC2046 # two pids
    "$dpm" acquire -o stalled.trace --ring 64M --duration 400ms $(head -n 1 told) > out 2> err
    check_equal "$2, held up when $3, after $4 times: acquired, seed $seed" 0 $?
    kill $program
    wait $program
    check_equal "... it was held up" 1 "$(sed -n 2p told)"
    "$dpm" dump --json --matched stalled.trace > dump.json 2> dump.err
    jq -s -f edges.jq dump.json > edges.json
    echo "# $(jq -c . edges.json)"
    check_equal "... no exact edge is wrong" 0 "$(jq .wrong edges.json)"
    check "... and nearly all are exact" jq -e '.receives > 100 and .exact * 10 > .receives * 9' edges.json
}

for kind in datagram seqpacket; do
    try "$1" $kind sent 0
    try "$1" $kind sent 2
    try "$1" $kind queued 0
    try "$1" $kind queued 2
    try "$1" $kind received 0
done
finish
