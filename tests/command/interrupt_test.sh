#!/bin/sh
# SPDX-License-Identifier: MIT
# interrupt_test.sh BUILD_FOLDER: Ctrl-C while traces are read or a result is written: one line says so, the terminal is as
# before, and no file is left half written.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
. "$here/sample.sh"

# ---- while traces are read: the more of them, until it takes longer than a second ----

records=400000
while :; do
    rm -rf one two
    "$1/bench/generate" --records $records one two > said
    for command in "report --threads 1" "report --threads 2" "report --html page.html" why path; do
        # shellcheck disable=SC2086 # several words
        python3 "$here/interrupted.py" "$dpm" $command one two > "ended.$(echo "$command" | tr -dc a-z0-9)"
    done
    grep -q 'too quick' ended.* && [ $records -lt 12000000 ] || break
    records=$((records * 3))
done
for ended in ended.*; do
    if grep -q 'too quick' "$ended"; then
        skip "$ended" "$records records are read within a second"
        continue
    fi
    check_equal "$ended: one line says what happened, and the status is that of Ctrl-C" \
        "dpm: interrupted while reading: there is no result
130" "$(cat "$ended")"
done
check_equal "no file is left" "" "$(find . -name '*page.html*')"
rm -rf one two

# ---- while a file is written ----

if command -v strace > /dev/null && strace -o /dev/null true 2> why_not; then
    echo before > page.html
    strace -f -o calls -e inject=write:signal=INT:when=1 "$dpm" report --html page.html gamma 2> err
    check_equal "a file that is being written: the status" 130 $?
    check_equal "... and the line" "dpm: interrupted: page.html is not written" "$(cat err)"
    check_equal "... the older one is as it was" before "$(cat page.html)"
    check_equal "... and none is beside it" page.html "$(find . -name '*page.html*' | sed 's/^..//')"
else
    skip "a file that is being written" "strace does not work here"
fi

# A script that ignores SIGINT, as for its jobs in the background, goes on doing so.
(
    trap '' INT
    if command -v strace > /dev/null && strace -o /dev/null true 2> why_not; then
        strace -f -o calls -e inject=write:signal=INT:when=1 "$dpm" report --html ignored.html gamma 2> err
    else
        "$dpm" report --html ignored.html gamma 2> err
    fi
    echo $? > status
)
check_equal "SIGINT that is ignored stays ignored" 0 "$(cat status)"
check "... and the page is whole" grep -q '</html>' ignored.html
finish
