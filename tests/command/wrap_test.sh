#!/bin/sh
# SPDX-License-Identifier: MIT
# wrap_test.sh BUILD_FOLDER: 32-bit numbers wrap around at 2^32 without errors: sequence numbers, LOST records, and the
# offsets of more than 4 GiB. Those of paths end.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
load=$1/tests/programs/load
wrap=$1/tests/programs/wrap
queues=$1/tests/programs/use-queues
cd "$scratch" || exit 1

# gaps FILE: the gaps in the streams' sequences of a dump, record by record modulo 2^32.
gaps() {
    jq -s '[.[] | select(.sequence != null and .event != "LOST")] | group_by(.stream) |
        map([.[].sequence] | [.[:-1], .[1:]] | transpose |
            map((.[1] - .[0] - 1 + 4294967296) % 4294967296) | add // 0) | add' "$1"
}

# 4294967196 is 2^32 - 100.
record_whole() {
    rm -rf whole.trace
    "$wrap" whole.trace 4294967196 0 0 16777216 5 "$load" 2000 100 > out
    status=$?
    "$dpm" dump --json whole.trace > whole.json 2> dump.err
}
repeat record_whole
check_equal "a program is recorded from a sequence number just below 2^32" 0 $status
check_equal "every stream begins with that number" 4294967196 \
    "$(jq -s '[.[] | select(.sequence != null)] | group_by(.stream) | map(.[0].sequence) | unique | .[]' whole.json)"
check "... passes 2^32" jq -e -s 'any(.[]; .event == "SEND" and .sequence < 100)' whole.json
check_equal "... without a gap" 0 "$(gaps whole.json)"
check_equal "... or a loss" "2000 0" \
    "$(jq -rs '"\([.[] | select(.event == "SEND")] | length) \(.[-1].lost)"' whole.json)"

# Losses at the wrap-around: a ring for some 70 records, read every 20 ms.
"$wrap" lost.trace 4294967196 0 0 4096 20 "$load" 40000 10 > out
"$dpm" dump --json lost.trace > lost.json 2> err
lost=$(jq -s '.[-1].lost' lost.json)
check "a small ring loses records" test "$lost" -gt 1000
check_equal "recorded + lost = made" true "$(jq -s --argjson lost "$lost" '
    [.[] | select(.event == "LOST") | .count] | add == $lost' lost.json)"
# The last record of a stream is its TERMINATION, in the control ring, which loses nothing: so every gap is between two
# records.
check_equal "the gaps across 2^32 are those in LOST of streams" \
    "$(jq -s '[.[] | select(.event == "LOST" and .stream > 0).count] | add' lost.json)" "$(gaps lost.json)"
# If LOST takes the last buffer space, the next record is lost, too, and reported by another LOST.
check "LOST names the record that follows the gap" jq -e -s '
    [.[] | select(.sequence != null and .stream != 0)] | group_by(.stream) |
    [.[] | [.[:-1], .[1:]] | transpose[] | select(.[0].event == "LOST")] |
    length > 0 and all(.[]; .[1].event == "LOST" or .[0].sequence == .[1].sequence)' lost.json
check "... also behind 2^32" jq -e -s '
    any(.[]; .event == "LOST" and .stream != 0 and .sequence < 40000)' lost.json

# Each stream has lost 2^35 + 7 records before its first: LOST has 32 bits for them. load makes enough records to report
# all of its losses; /bin/true ends too early, and sleep outlives the recording: the rest of theirs is reported at the
# end.
before=34359738375
"$wrap" before.trace 4294967196 $before 0 16777216 5 sh -c "/bin/true; sleep 300 & echo \$! > sleeper; '$load' 100 100; kill -9 \$\$" > out
kill "$(cat sleeper)"
"$dpm" dump --json before.trace > before.json 2> err
check_equal "loss counts beyond 32 bits: streams report as much as they can" "$before true" "$(jq -rs '
    [.[] | select(.event == "LOST" and .stream > 0)] | group_by(.stream) | map(map(.count) | add) |
    "\(max) \(all(.[]; . <= '$before'))"' before.json)"
streams=$(jq -s '[.[] | select(.event == "STREAM").stream] | unique | length' before.json)
check "... there are several, and one that lives on" sh -c "[ $streams -ge 4 ] && jq -e -s '
    ([.[] | select(.event == \"STREAM\").stream] | unique) - [.[] | select(.event == \"TERMINATION\").stream] |
    length == 1' before.json"
check_equal "... the end reports the rest: recordings count all" $((streams * before)) \
    "$(jq -s '.[-1].lost' before.json)"
check_equal "... and LOST records count each" $((streams * before)) \
    "$(jq -s '[.[] | select(.event == "LOST").count] | add' before.json)"
check "... some of those that have ended, and of those that live on" jq -e -s '
    map(select(.event == "LOST" and .count < 4294967295)) | any(.[]; .stream == 0) and any(.[]; .stream > 0)' before.json
check_equal "... the statistics have the same number" $((streams * before)) \
    "$("$dpm" stats --json before.trace 2> err | jq .trace.lost)"

# 4294901759 is the last number of a path, 65,536 below the last that there is.
FIRST_PATH=4294901759 "$wrap" used.trace 0 0 0 16777216 5 sh -c "'$load' 2000 100 && '$queues' sysv 1 1 100 received" > out 2> err
"$dpm" dump --json used.trace > used.json 2> dump.err
check "where the numbers of paths are used up, no later path is recorded, and that counts as lost" jq -e -s '
    all(.[]; .event != "PATH") and .[-1].lost > 0' used.json
check_equal "... the report says why, and nothing of a buffer" \
    "wrap: the numbers of connections and files are used up: begin a new recording" "$(grep -E 'numbers|buffer' err)"

# 4.5 GB in pieces of 1 MB.
"$dpm" run -o large.trace --kinds unix --flags send,receive -- "$load" 4500 1000000 > out 2> err
"$dpm" dump --json large.trace > large.json
check_equal "offsets of more than 4 GiB lie one behind the other, modulo 2^32" \
    "SEND 4500000000 true
RECEIVE 4500000000 true" "$(jq -rs '
    def behind: [.[:-1], .[1:]] | transpose |
        all(.[]; (.[0].offset + .[0].bytes) % 4294967296 == .[1].offset);
    ("SEND", "RECEIVE") as $event | [.[] | select(.event == $event and .bytes > 0)] |
    "\($event) \(map(.bytes) | add) \(behind)"' large.json)"
check_equal "... and the statistics sum them up" 4500000000 \
    "$("$dpm" stats --json large.trace | jq '[.processes[].sent.bytes] | add')"
finish
