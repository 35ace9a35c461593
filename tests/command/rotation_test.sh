#!/bin/sh
# SPDX-License-Identifier: MIT
# rotation_test.sh BUILD_FOLDER: a trace that keeps only the newest records reads like one of a recording that began later.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
load=$1/tests/programs/load
cd "$scratch" || exit 1

# bytes TRACE: of all its files
bytes() { cat "$1"/* | wc -c; }

# pairs TRACE: of files
pairs() { find "$1" -name 'control*' | wc -l; }

"$dpm" run -o size.trace --kinds unix --max-size 2M --analyses all -- "$load" 60000 64 > out 2> err
check_equal "the command runs as ever" "sends 60000" "$(grep sends out)"
check "the trace keeps to its size" test "$(bytes size.trace)" -le 2097152
check "... and uses most of it" test "$(bytes size.trace)" -ge 1500000
check "the report says what was removed" \
    grep -Eq '^dpm: only the newest records are kept: [0-9,]+ records of [0-9.]+ m?s before them were removed$' err
check "... and no record is lost" grep -Eq '^dpm: [0-9]+ records, 0 lost, in size.trace$' err
check_not "... nor is the trace called incomplete" grep -Eq 'not complete|cut|damaged|stopped' err
"$dpm" stats --json size.trace > stats.json 2> err
check_equal "the trace is complete" true "$(jq .trace.complete stats.json)"
check_equal "no receive or send is unmatched" "0 0" \
    "$(jq -r '.trace.matching | "\(.unmatched_receives) \(.unmatched_sends)"' stats.json)"
check "... and most receives are exact" jq -e '.trace.matching.exact > 1000' stats.json
check_equal "program counters have names" main "$(jq -r '.procedures[0].procedure' stats.json)"

# the records are the last ones of the whole recording
"$dpm" dump --json size.trace > records 2> err
check "every command says what was removed" grep -q 'size.trace: only the newest records are kept: ' err
check_equal "the second record says so, too" BEGIN "$(sed -n '2p;2q' records | jq -r .event)"
check_equal "the records removed and kept are all of the recording" "$(tail -n 1 records | jq .records)" \
    "$(sed -n '2p;2q' records | jq --argjson kept "$(wc -l < records)" '.records + $kept - 2 - .repeated')"
last=$(grep '"event": *"RECEIVE"' records | grep '"bytes": *64[,}]' | tail -n 1 | jq .offset)
check_equal "the last message is there" $((60000 * 64 - 64)) "$last"
for command in report why parallelism causality path; do
    "$dpm" $command size.trace > out 2> err
    check_equal "dpm $command reads it" "0 0" "$? $(grep -vc 'only the newest\|^$' err)"
done
if command -v babeltrace2 > /dev/null; then
    babeltrace2 size.trace > list 2> err
    check_equal "babeltrace2 lists it" "0 0" "$? $(wc -l < err)"
    check "... and knows the same records" sh -c \
        "test \$(grep -c ' RECEIVE: ' list) = \$(grep -c '\"event\": *\"RECEIVE\"' records)"
else
    skip "babeltrace2 lists it" "there is no babeltrace2"
fi

"$dpm" run -o files.trace --kinds unix --flags send,receive --max-size 2M --max-files 3 -- "$load" 30000 64 > out 2> err
check_equal "--max-files keeps so many pairs" 3 "$(pairs files.trace)"
# These are about files, not about the meter: with the one that is quick to start.
"$dpm" run --meter ptrace -o age.trace --max-age 1s -- sh -c "for i in 1 2 3 4 5 6 7 8 9; do '$load' 100 64; sleep 0.3; done; '$load' 100 64" > out 2> err
check "--max-age keeps no older records" sh -c "'$dpm' dump --json age.trace 2> err |
    jq -s -e '(.[-1].time_ns // .[-1].time) - (.[0].time_ns // .[0].time) <= 1000000000' > out"
check "... but newer ones" test "$("$dpm" stats --json age.trace 2> err | jq '[.processes[].sent.messages] | add')" -ge 100
# nothing beyond it: an ordinary trace
"$dpm" run --meter ptrace -o whole.trace --store newest -- "$load" 100 64 > out 2> err
check_equal "a trace in which nothing was removed is as ever" "control data metadata" "$(cd whole.trace && echo *)"
check_not "... and nothing is said" grep -q 'only the newest' err

# followed while it grows
"$dpm" run -o followed.trace --kinds unix --flags send,receive --max-size 1M -- sh -c "
    for i in 1 2 3; do '$load' 200 64; sleep 0.3; done; '$load' 40000 64; sleep 0.3" > out 2> err &
pid=$!
wait_for 30 test -s followed.trace/control
timeout 60 "$dpm" dump --follow --json followed.trace > followed 2> follow.err
check_equal "a reader that follows ends with the recording" 0 $?
wait $pid
check_equal "... and has its last record" END "$(tail -n 1 followed | jq -r .event)"
# what it has read, and what it says it has not, are all
said=$(sed -n 's/^dpm: \([0-9,]*\) records\{0,1\} .* before they were read.*/\1/p' follow.err | tr -d , | awk '{ s += $1 } END { print s + 0 }')
check_equal "... each record was read or is said to be missing" "$(tail -n 1 followed | jq .records)" \
    "$(jq -s --argjson said "$said" 'length - ([.[] | select(.event == "BEGIN") | .repeated + 2] | add // 0) + $said' followed)"
"$dpm" run --meter ptrace -o plain.trace -- sh -c "'$load' 200 64; sleep 1.5; '$load' 200 64" > out 2> err &
pid=$!
wait_for 30 test -s plain.trace/control
timeout 60 "$dpm" dump --follow --json plain.trace > followed 2> err
wait $pid
check_equal "a trace that is not rotated is followed, too" \
    "$("$dpm" dump --json plain.trace | jq -r .event | sort | uniq -c)" "$(jq -r .event followed | sort | uniq -c)"
"$dpm" dump --follow plain.trace > again
check_equal "one that has ended is listed" END "$(tail -n 1 again | awk '{ print $5 }')"
"$dpm" dump --follow plain.trace age.trace > out 2> err
check_equal "only one is followed" "2 dpm: dump: --follow reads one trace, without --matched (try: dpm dump --help)" "$? $(cat err)"

# killed while it rotates: everything up to the last flush is there, and can be closed
if [ "$meter" = kernel ]; then
    # has_rotated TRACE TIMES
    has_rotated() {
        [ "$(find "$1" -name 'control.?*' | sed 's/.*control\.//' | sort -n | tail -n 1)" -ge "$2" ]
    }
    tries=1
    if long_ones; then
        tries="1 2 3"
    fi
    for try in $tries; do
        "$dpm" run -o "killed$try.trace" --kinds unix --flags send,receive --max-size 1M -- "$load" 3000000 64 > out 2> err &
        pid=$!
        wait_for 60 has_rotated "killed$try.trace" $((try * 10))
        kill -KILL $pid "$(pgrep -P $pid)"
        wait $pid 2> /dev/null
        "$dpm" stats --json "killed$try.trace" > stats.json 2> err
        check_equal "killed: the trace can be read ($try)" 0 $?
        check "... and says that it was cut" grep -q 'was cut' err
        "$dpm" repair "killed$try.trace" > out 2>&1
        "$dpm" stats --json "killed$try.trace" > stats.json 2> err
        check "... repair closes it" grep -q 'was cut and repaired' err
        command -v babeltrace2 > /dev/null || continue
        # it tells of records that were lost, which a busy machine does
        check_equal "... for babeltrace2, too" "" "$(babeltrace2 "killed$try.trace" 2>&1 > /dev/null | grep -v discarded)"
    done
fi

"$dpm" run --max-size 100K -- true > out 2> err
check_equal "a trace too small for that" "2 dpm: run: --max-size: --store newest needs at least 1M; with --store all \
recording stops at the size (try: dpm run --help)" "$? $(cat err)"
"$dpm" run --store all --max-age 1s -- true > out 2> err
check_equal "options that contradict each other" "2 dpm: run: --store all keeps all records: leave it out, or --max-files \
and --max-age (try: dpm run --help)" "$? $(cat err)"

finish
