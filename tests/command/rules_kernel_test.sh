#!/bin/sh
# SPDX-License-Identifier: MIT
# rules_kernel_test.sh BUILD_FOLDER: rules that the kernel meter evaluates, against the log of a program that knows what it has
# written; rules that change while a recording goes on; and a trace that keeps only the newest records.
# rules_places_test.c compares the kernel's verdict with the others.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/sample.sh"
find_meter
[ "$meter" = kernel ] || skip_all "the kernel meter does not run here"

# Writes known sizes, and their list. With a file to wait for, until that is there.
cat > writer.py << 'END'
import os, sys, time
log, enough = open(sys.argv[1], "w"), sys.argv[2] if len(sys.argv) > 2 else None
number = 0
while not os.path.exists(enough) if enough else number < 3000:
    size = number * 7 % 997 + 1
    os.write(1, b"x" * size)
    log.write("%d\n" % size)
    number += 1
    if number % 100 == 0 or enough:
        time.sleep(0.01)
END

# of TRACE TYPE FIELD: of each event of this type, from stream or not
of() {
    "$dpm" dump --json --type "$2" "$1" 2> err | jq -r "$3"
}

# ---- the kernel's verdict, and a program's own log ----

cat > large.rules << 'END'
type=send, size>=900, process=python*, kind=pipe, PC=#*;
type=termination;
END
runs "a program's large writes" "$dpm" run --kinds pipe -r large.rules -o large -- sh -c 'python3 writer.py log | cat > copied'
awk '$1 >= 900' log > expected
of large send .bytes > found
check "each write that a rule accepts is there, once and in order, and no other" cmp expected found
check "the other writes were never recorded: they are counted for no thread" test \
    "$(of large discarded 'select(.stream == 0) | .count' | awk '{ sum += $1 } END { print sum + 0 }')" \
    -ge "$(awk '$1 < 900' log | wc -l)"
check_equal "... and have no numbers: each thread's are complete" "" \
    "$("$dpm" dump --json large 2> err | jq -rs '
        group_by(.stream) | .[] | select(.[0].stream > 0)
        | [.[] | select(.sequence != null and .event != "DISCARDED")] as $kept
        | ([.[] | select(.event == "DISCARDED") | .count] | add) as $removed
        | ([.[] | select(.event == "TERMINATION") | .sequence][0]) as $last
        | select($last != null and $last + 1 != ($kept | length) + ($removed // 0))
        | "stream \(.[0].stream)"')"
"$dpm" stats --json large > stats.json 2> err
check_equal "sends whose receives were not recorded are not unmatched; how many were not received is unknown" "0 true" \
    "$(jq -r '"\(.trace.matching.unmatched_sends) \([.. | objects | select(has("unreceived")) | .unreceived] | all(. == null))"' stats.json)"

long_ones || finish

# ---- rules that change ----

echo 'type=send, process=python*;' > changing.rules
"$dpm" run --kinds pipe -r changing.rules --report report -o changing -- sh -c 'python3 writer.py log2 enough | cat > copied' &
recorder=$!
wait_for 30 test -s log2
echo 'type=send,' > changing.rules.new
mv changing.rules.new changing.rules
wait_for 30 grep -q 'changing.rules:2:1: the text ends: .*; the rules stay as they were' report
check "wrong rules are reported, and the rules stay as they were" \
    grep -q 'changing.rules:2:1: the text ends: .*; the rules stay as they were' report
echo 'type=receive, process=cat;' > changing.rules.new
mv changing.rules.new changing.rules
wait_for 30 grep -q 'changing.rules has changed' report
check "other rules are read while the recording goes on" \
    grep -qx 'dpm: rules: changing.rules has changed, and is in force from now on' report
wait_for 30 sh -c "'$dpm' dump --type receive changing 2> dump.err | grep -q RECEIVE"
: > enough
wait $recorder
"$dpm" dump --json changing 2> err | jq -r 'select(.event == "FLAGS" or .event == "SEND" or .event == "RECEIVE" or
    (.event == "NAME" and .kind == 4)) | if .event == "NAME" then .called else .event end' | uniq > order
check_equal "the trace has both, where each came into force, and what each selects" \
    "FLAGS,type=send, process=python*,SEND,FLAGS,type=receive, process=cat,RECEIVE" "$(paste -sd, order)"
of changing send .bytes > found
head -n "$(wc -l < found)" log2 > expected
check "no write is missing before the change" cmp expected found
check_equal "no byte is missing behind it" "" \
    "$("$dpm" dump --json --type receive changing 2> err | jq -rs 'to_entries | map(select(.key > 0)) as $rest | . as $all
        | $rest[] | select(.value.offset != $all[.key - 1].value.offset + $all[.key - 1].value.bytes) | "a gap at \(.value.offset)"')"

# ---- the newest records only ----

echo 'type=receive, process=wc, PC=#*, offset=#*;' > wc.rules
runs "with --store newest" "$dpm" run --kinds pipe -r wc.rules --store newest -o newest -- sh -c \
    'i=0; while [ $i -lt 20 ]; do seq 1000 | wc -c; i=$((i + 1)); done'
check_equal "... without the fields that were discarded" '["pc","offset"]' \
    "$(of newest receive '.absent | tojson' | sort -u)"
check_equal "... it has the same events" 77860 "$(of newest receive .bytes | awk '{ sum += $1 } END { print sum }')"
finish
