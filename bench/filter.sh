#!/bin/sh
# SPDX-License-Identifier: MIT
# filter.sh BUILD_FOLDER: the cost of selection rules: `dpm filter` on the standard trace of RECORDS records (30,000,000), in
# SCRATCH (/dev/shm if it has space), with 0, 1, 10 and 100 rules, pinned to one CPU.
#
#   yardstick   reads the files and adds up one word for each record
#   0 rules     copies the trace: everything is accepted and written
#   1 ...       half of them ask for a number of bytes, half for a process, and none accepts anything, so each record of
#               a type that rules decide about is judged by all of them
#
# Then selection.sh: what a metered call costs whose records the kernel discards.
#
# Each figure is the median of RUNS runs (5), one right after the other.
set -eu
build=$1
. "$(dirname "$0")/standard.sh"

# rules NUMBER: that many.
rules() {
    i=0
    while [ $i -lt "$1" ]; do
        [ $((i % 2)) = 0 ] && echo "bytes=$((1000000000 + i));" || echo "process=nobody$i;"
        i=$((i + 1))
    done
}

# filter NUMBER: the seconds with so many rules.
filter() {
    rm -rf selected
    run "$build/dpm" filter --rules "rules.$1" alpha -o selected 2> complaint
}

generate "$records" > generated
count=$("$build/dpm" filter --rules /dev/null alpha -o all 2>&1 > out | sed -n 's/,//g; s/.*: \([0-9]*\) events selected.*/\1/p')
rm -rf all
for number in 0 1 10 100; do
    rules $number > rules.$number
done
run=0
while [ $run -lt "$runs" ]; do
    echo "$(run "$build/bench/yardstick" alpha/control alpha/data) $(filter 0) $(filter 1) $(filter 10) $(filter 100)"
    run=$((run + 1))
done > runs
heading filtering
row yardstick 1
row "0 rules" 2
row "1 rule" 3
row "10 rules" 4
row "100 rules" 5

sh "$(dirname "$0")/selection.sh" "$build"
