#!/bin/sh
# SPDX-License-Identifier: MIT
# follow_test.sh BUILD_FOLDER: dpm stats --follow reads a trace while it is being recorded, also one that keeps only the
# newest records, reports meanwhile, and in the end says what it says of the finished trace.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq
build=$(realpath "$1")
cd "$scratch" || exit 1

cat > talk.sh <<'SCRIPT'
{
    while [ ! -e enough ]; do
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do
            echo "$i"
        done
        [ -e fast ] || sleep 0.01
    done
} | cat > /dev/null
SCRIPT

# recorded NAME OPTION...: records talk.sh in the background, until the file `enough` is there.
recorded() {
    name=$1
    shift
    rm -f enough
    "$dpm" run --kinds pipe -o "$name.trace" "$@" -- sh talk.sh > run.out 2> run.err &
    recording=$!
    wait_for 30 test -s "$name.trace/metadata" -a -s "$name.trace/control"
}

# reports LEAST FILE: there are so many.
reports() {
    [ "$(grep -c '^Processes' "$2")" -ge "$1" ]
}

# ends NAME: the recording ends, and so do those that follow it.
ends() {
    touch enough
    wait $recording
    check_equal "$1: the recording ends in order" 0 $?
    wait $tables
    check_equal "... so does who follows it" 0 $?
}

recorded all
"$dpm" stats --follow --interval 300ms all.trace > tables.out 2> tables.err &
tables=$!
"$dpm" stats --follow --json all.trace > followed.json 2> followed.err &
object=$!
check "reports come while it is being recorded" wait_for 30 reports 3 tables.out
check "... the later ones with the last interval" wait_for 30 grep -q '^In the last' tables.out
check_equal "... nothing else is printed before the end" "" "$(cat followed.json)"
ends "a trace"
wait $object
check_equal "... also as JSON" 0 $?
"$dpm" stats --json all.trace > finished.json
check "... with messages" jq -e '.trace.events > 100' finished.json
what='[.trace.events, .trace.lost, (.processes | map([.name, .pid, .sent.messages, .sent.bytes, .received.messages]) | sort)]'
check_equal "... and the same results as of the finished trace" "$(jq -c "$what" finished.json)" "$(jq -c "$what" followed.json)"

: > fast
recorded newest --max-size 4M --max-files 3
: > tables.out
"$dpm" stats --follow --interval 300ms newest.trace > tables.out 2> tables.err &
tables=$!
check "a trace that keeps only the newest: its files change while it is read" \
    wait_for 60 sh -c 'test "$(ls newest.trace | grep -c control)" -gt 1 && ! test -e newest.trace/control'
check "... reports come" wait_for 30 reports 3 tables.out
ends "a trace that keeps only the newest"
check "... and the last report has messages" sh -c "tail -n 60 tables.out | grep -q cat"
mkdir folder
cp -r newest.trace folder/db1
check "a folder of such a trace" test ! -e folder/db1/control
COLUMNS=160 timeout 20 "$dpm" top folder > top.out 2> top.err
check_equal "... is shown" 0 $?
check "... with its processes" grep -q '^cat' top.out

"$build/bench/generate" --records 60000 much more > generated.out
"$dpm" stats --follow --interval 1ms much > tables.out
check "who is behind reports, too, before everything is read" reports 2 tables.out
"$dpm" stats --follow --interval 1ms --json much > lines.out
check "... also in lines" test "$(wc -l < lines.out)" -ge 2

# refused TEXT OPTION...: wrong usage.
refused() {
    text=$1
    shift
    "$dpm" stats "$@" > out 2> err
    check_equal "$*: wrong usage" 2 $?
    check "... and why" grep -q -e "$text" err
}
refused '--interval needs --follow' --interval 1s all.trace
refused 'reads one trace' --follow all.trace newest.trace
refused 'does not go with --path' --follow --from 1s all.trace
refused 'give a time' --follow --interval 0 all.trace
finish
