#!/bin/sh
# SPDX-License-Identifier: MIT
# short_of_memory_test.sh BUILD_FOLDER: where memory ends a command says so in one line and fails, or it succeeds with
# the same output as ever; it never succeeds with less. Each allocation of a command is made to fail, of many some.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
library=$build/tests/short_of_memory.so

# short ALLOCATION COMMAND...: with this allocation failing
short() {
    failing=$1
    shift
    FAIL_AT=$failing LD_PRELOAD=$library "$@"
}

# tells_all STATUS: of a command with this exit status whether it succeeded with all of the output, or said why not
tells_all() {
    if [ "$1" = 0 ]; then
        cmp -s out whole
    else
        [ "$1" = 1 ] &&
            awk '!/^dpm: / || /have changed/ { wrong = 1 } !/ lost$/ { lines++ } END { exit wrong || lines != 1 }' err
    fi
}

# never_less NAME COMMAND...: the property above, of at most 250 allocations: the last 150, and some of the others.
never_less() {
    tap_name=$1
    shift
    COUNT_TO=count LD_PRELOAD=$library "$@" > whole 2> err
    count=$(cat count)
    at=$count
    wrong=
    while [ "$at" -gt 0 ]; do
        short "$at" "$@" > out 2> err
        status=$?
        tells_all $status || wrong="$wrong
allocation $at of $count: status $status, $(head -n 3 err)"
        at=$((at - (at > count - 150 || count <= 250 ? 1 : count / 100)))
    done
    check_equal "$tap_name: whatever of its $count allocations fails" "" "$wrong"
}

never_less "dpm stats --json" "$dpm" stats --json --histogram alpha

# In the C locale, because setlocale and iconv have no more to say than that there is no such locale, if they have no
# memory for it; names are then told in ASCII.
LC_ALL=C
never_less "dpm stats, tables" "$dpm" stats alpha
never_less "dpm stats, tables of pairs" "$dpm" stats --by pair alpha
never_less "dpm path, tables" "$dpm" path alpha
LC_ALL=C.UTF-8

never_less "dpm parallelism --json" "$dpm" parallelism --json --search 2 alpha
printf 'machine big 2\nmachine small\n%s\n* small\n' "$(seq -f '%.0f big' 100)" > assign
printf 'local 1us\nremote 1ms\n%s\nbig small 3s\n' "$(seq -f 'm%.0f small 1ms' 100)" > delays
never_less "dpm parallelism with files" "$dpm" parallelism --json --assign assign --delays delays alpha
never_less "dpm path --json" "$dpm" path --json alpha
never_less "dpm causality --json" "$dpm" causality --json --slowest 2 alpha
never_less "dpm report --json" "$dpm" report --json alpha
never_less "dpm dump --json" "$dpm" dump --json --matched alpha
never_less "dpm dump, of program counters with names" "$dpm" dump gamma

# The names of the traces, as dpm report repeats them in the commands that show more; they are made at its beginning.
"$dpm" report alpha 2> err | grep -o 'dpm [a-z].*)$' > whole
wrong=
for at in $(seq 100); do
    short "$at" "$dpm" report alpha 2> err > out || continue
    grep -a -o 'dpm [a-z].*)$' out | cmp -s - whole || wrong="$wrong $at"
done
check_equal "dpm report names the traces, whatever of its first allocations fails" "" "$wrong"
finish
