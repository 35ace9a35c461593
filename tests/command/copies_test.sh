#!/bin/sh
# SPDX-License-Identifier: MIT
# copies_test.sh BUILD_FOLDER: copies of traces from other machines: made while the trace grows, by processes that are
# killed, with packets that never came, and several in one directory.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
copier=$build/tests/programs/copy-trace

# records TRACE: as dpm dump lists them.
records() {
    "$dpm" dump --json "$1" 2> err
}

# is_same NAME TRACE COPY: byte for byte.
is_same() {
    check "$1" diff -r "$2" "$3"
}

# ---- a trace that is complete ----

"$copier" alpha whole > out 2> err
is_same "the copy of a trace is the same trace" alpha whole
for packets in 1 2 3; do
    "$copier" alpha "parts-$packets" stop=$packets > out 2> err
    check_not "with $packets packets it is not" diff -r alpha "parts-$packets"
    records "parts-$packets" > list
    check "... and can be read" test -s list
    check "... as a trace that was cut" grep -q "parts-$packets was cut" err
    "$copier" alpha "parts-$packets" > out 2> err
    is_same "... it goes on there" alpha "parts-$packets"
done
"$copier" alpha whole > out 2> err
check_equal "a second time there is nothing to do" "0 packets" "$(cat out)"
check_not "another trace is not copied there" "$copier" beta whole
if [ -x "$(command -v babeltrace2)" ]; then
    babeltrace2 alpha > one 2> err
    babeltrace2 whole > other 2>> err
    check "babeltrace2 lists the copy" test -s other
    check "... like the trace" cmp one other
else
    skip "babeltrace2 lists the copy" "babeltrace2 is not installed"
fi

# ---- a trace that grows; the copier is killed ----

"$dpm" run --meter ptrace -o grown -- sh -c 'i=0; while [ $i -lt 60 ]; do echo $i | cat > /dev/null; i=$((i + 1));
    sleep 0.05; done' > out 2> err &
recorder=$!
for pause in 0.5 0.3 0.7 0.4; do
    "$copier" grown copied > out 2> err &
    killed=$!
    sleep $pause
    kill -KILL $killed
    wait $killed 2> /dev/null
done
"$copier" grown copied > out 2> err
check "the copier ends with the recording" test $? -eq 0
wait $recorder
is_same "after four kills the copy is the same trace" grown copied
records grown > one
records copied > other
check "... with the same records" cmp one other

# ---- packets that never come ----

"$copier" grown lacking drop=1 > out 2> err
records lacking > other
lost=$(($(wc -l < one) - $(wc -l < other)))
check "without a packet of data, records are missing" test $lost -gt 0
check "... their number is reported" grep -qx "dpm: lacking: $lost records were lost" err
check "... and why" grep -qx \
    "dpm: lacking: 1 packet of this copy never arrived; their records count as lost" err
for command in report stats why parallelism path causality graph 'dump --matched'; do
    # shellcheck disable=SC2086 # the words of a command
    "$dpm" $command lacking > out 2> err
    check "dpm $command reads it" test $? -eq 0
    check "... and says the same" grep -q "lacking: $lost records were lost" err
done

# ---- several in one directory ----

mkdir -p today/web1 today/.hidden today/notes none
cp -r alpha today/db1
cp -r beta today/web2
cp beta/metadata today/web1
: > today/file
"$dpm" stats alpha beta > one 2> err
"$dpm" stats today > other 2> err
check "a directory of traces stands for all of them" cmp one other
check_equal "... one without records yet is left out" \
    "dpm: today/web1: left out: it has no records yet" "$(grep 'left out' err)"
"$dpm" dump today/ > other 2> err
"$dpm" dump alpha beta > one 2> err
check "... for dpm dump, too" cmp one other
for command in report stats why parallelism path causality graph dump; do
    "$dpm" $command none > out 2> err
    check_equal "dpm $command: an empty directory is an error" \
        "1 dpm: none: has no traces; name a trace, or a directory that holds some" "$? $(cat err)"
done

finish
