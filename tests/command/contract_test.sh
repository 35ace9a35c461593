#!/bin/sh
# SPDX-License-Identifier: MIT
# contract_test.sh BUILD_FOLDER: the record contract, on real recordings: another reader sees every record, nothing is
# lost silently, and the trace is readable however the recording ends.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
load=$1/tests/programs/load
cd "$scratch" || exit 1

# count_ours TRACE, count_others TRACE: records as listed by DPM and by babeltrace2.
count_ours() {
    "$dpm" dump "$1" | wc -l
}

count_others() {
    babeltrace2 "$1" | wc -l
}

# ---- another reader, blocked sends, size ----

record_large() {
    rm -rf large.trace
    # shellcheck disable=SC2016 # for that shell
    "$dpm" run -o large.trace --ring 64M -- sh -c '"$1" 20 5000000; "$1" 30000 64' sh "$load" > out 2> err
    "$dpm" dump --type end large.trace > end 2> dump.err
}
repeat record_large
records=$(count_ours large.trace)
check "blocked sends of megabytes have SENDCALLs" sh -c \
    "'$dpm' dump --type sendcall large.trace | grep -q SENDCALL"
check "a large trace has the sends and receives the program counted" sh -c "
    '$dpm' stats --json large.trace | jq -e --argjson sends \"\$(awk '/sends/ { sum += \$2 } END { print sum }' out)\" \
        '([.processes[].sent.messages] | add) == \$sends and .trace.lost == 0'"
check_equal "babeltrace2 lists as many records of it" "$records" "$(count_others large.trace)"
check "a record takes at most 49 bytes of the trace" \
    test "$(cat large.trace/control large.trace/data | wc -c)" -le $((records * 49))

# ---- a tiny ring and a stopped reader ----

"$dpm" run -o lost.trace --kinds unix --ring 4K --flags send -- sh -c "
    kill -STOP \$PPID; '$load' 5000 10 > out; kill -CONT \$PPID; exec '$load' 10 10 > out2" 2> err
"$dpm" dump --json lost.trace > lost.json 2> lost.err
sent=$(($(awk '/sends/ { print $2 }' out) + $(awk '/sends/ { print $2 }' out2)))
recorded=$(grep -c '"event": *"SEND"' lost.json)
lost=$(jq -s '.[-1].lost' lost.json)
check "a stopped reader's tiny ring loses records" test "$lost" -gt 1000
check_equal "recorded + lost = sent" "$sent" $((recorded + lost))
check_equal "the LOST records count every lost record" "$lost" \
    "$(jq -s '[.[] | select(.event == "LOST") | .count] | add' lost.json)"
check_equal "the gaps in the streams' sequences are as many" "$lost" "$(jq -s '
    [.[] | select(.sequence != null)] | group_by(.stream) |
    map(((map(select(.event != "LOST") | .sequence + 1) + map(select(.event == "LOST") | .sequence)) | max)
        - (map(select(.event != "LOST")) | length)) | add' lost.json)"

# tells COMMAND [SOUGHT]: this command on that trace reports the number of lost records in one line of standard error,
# and in its output: once for each line that matches this expression.
tells() {
    # shellcheck disable=SC2086 # a command and its options
    "$dpm" $1 lost.trace > told 2> told.err
    check_equal "dpm $1 succeeds" 0 $?
    check_equal "... and says how many records were lost" "dpm: lost.trace: $lost records were lost" \
        "$(grep lost told.err | tr -d ,)"
    [ -z "${2:-}" ] || check_equal "... also in its output" "$lost" "$(tr -d , < told | sed -n "$2" | sort -u)"
}
line='s/.*[ >]\([0-9]*\) lost.*/\1/p'
key='s/.*"lost": *\([0-9]*\).*/\1/p'
tells "dump" "$line"
tells "dump --json" "$key"
tells "dump --matched" "$line"
tells "dump --matched --json" "$key"
tells "stats" "$line"
tells "stats --json" "$key"
tells "stats --csv"
tells "report" "$line"
tells "report --json" "$key"
tells "report --html -" "$line"
tells "graph"
tells "graph --format dot"
tells "parallelism" "$line"
tells "parallelism --json" "$key"
tells "path" "$line"
tells "path --json" "$key"
tells "causality" "$line"
tells "causality --json" "$key"
tells "repair"
check "the other reader says so, too" sh -c \
    "babeltrace2 lost.trace 2>&1 > out3 | grep -q discarded"

# ---- a flood of messages displaces no identity ----

"$dpm" run -o flood.trace --kinds unix --ring 4K -- sh -c "
    kill -STOP \$PPID
    for i in 1 2 3 4 5 6 7 8 9 10; do '$load' 3000 10 > out; done
    kill -CONT \$PPID" 2> err
"$dpm" dump --json flood.trace > flood.json 2> lost.err
check "messages flood their ring" jq -e -s '.[-1].lost > 10000' flood.json
check_equal "no control record is lost" 0 \
    "$(jq -s '[.[] | select(.event == "LOST" and .ring == 0) | .count] | add // 0' flood.json)"
# A shell, ten programs and their children (more, if a sanitizer checks each with another process).
check "... every process is recorded, with its image and end" jq -e -s '
    def count(f): [.[] | select(f)] | length;
    (map(select(.event == "STREAM").stream) | unique | length) as $streams |
    $streams >= 21 and count(.event == "EXEC" and (.image | endswith("/load"))) == 10 and
    count(.event == "TERMINATION") == $streams' flood.json
check_equal "... and every path" 20 "$(jq -s '[.[] | select(.event == "PATH").path] | unique | length' flood.json)"

# ---- kill -9 ----

: > held
kills=2
! long_ones || kills=12
has_cost() {
    "$dpm" dump --type cost killed.trace 2> dump.err | grep -q COST
}
# has_data BYTES
has_data() {
    [ -s killed.trace/data ] && [ "$(stat -c %s killed.trace/data)" -ge "$1" ]
}
killed=0
repaired=0
readable=0
foreign=0
costs=0
while [ "$killed" -lt "$kills" ]; do
    killed=$((killed + 1))
    rm -rf killed.trace
    "$dpm" run -o killed.trace --kinds unix -- "$load" 10000000 200 > out 2> err &
    pid=$!
    wait_for 30 has_data $((killed % 10 * 400000)) # some more each time
    [ $((killed % 3)) != 2 ] || wait_for 30 has_cost # one in three lives for more than a second
    child=$(pgrep -P $pid)
    programs_of $pid >> held
    kill -KILL $pid "$child"
    wait $pid 2> /dev/null
    "$dpm" stats killed.trace > out 2> err && readable=$((readable + 1))
    grep -q '^DPM itself: .* of CPU time' out && costs=$((costs + 1))
    "$dpm" repair killed.trace > out 2>&1 && repaired=$((repaired + 1))
    [ "$(count_others killed.trace)" = "$(count_ours killed.trace 2> err)" ] && foreign=$((foreign + 1))
done
check_equal "every trace of a killed recording opens" $killed $readable
check "... and says what it had cost, once it had gone on for a second (${costs} of $killed)" test "$costs" -ge $(((killed + 1) / 3))
check_equal "... can be repaired" $killed $repaired
check_equal "... and is then the same to babeltrace2" $killed $foreign
check "nothing of the killed stays in the kernel" wait_for 30 are_freed held

# ---- a full disk ----

mkdir disk
if mount -t tmpfs -o size=1m tmpfs disk 2> /dev/null; then
    "$dpm" run -o disk/full.trace --kinds unix -- "$load" 50000 100 > out 2> err
    check_equal "on a full disk the command runs on" "0 sends 50000" "$? $(grep sends out)"
    check_equal "... after one clear error" 1 "$(grep -c '^dpm: recording stopped: .*[Ss]pace' err)"
    check "... and what was written can be read" "$dpm" stats disk/full.trace
    umount disk
else
    skip "a full disk" "cannot mount a small file system here"
fi
finish
