#!/bin/sh
# SPDX-License-Identifier: MIT
# reading.sh BUILD_FOLDER: what reading a trace costs: the standard trace of RECORDS records
# (30,000,000), in SCRATCH (/dev/shm if there is room, so that no disk is measured), which is removed
# again. Everything runs pinned to one CPU.
#
#   yardstick   reads the files and adds up one word for each record
#   dpm stats   --json
#   dpm dump    the lines for people, into /dev/null
#
# Each figure is the median of RUNS runs (5), the three one right after the other. Then the memory
# of dpm stats, for that trace and for one of a quarter of its length.
set -eu
. "$(dirname "$0")/quartiles.sh"
build=$1
. "$(dirname "$0")/standard.sh"

# run COMMAND...: how many seconds it takes.
run() {
    "$build/bench/measure" measured taskset -c "$cpu" "$@" > /dev/null
    awk '{ print $1 }' measured
}

# memory: of dpm stats, in MiB.
memory() {
    "$build/bench/measure" measured taskset -c "$cpu" "$build/dpm" stats --json alpha beta > stats
    awk '{ printf "%.1f", $2 / 1024 }' measured
}

# row NAME COLUMN: of the lines "yardstick stats dump" in the file `runs`.
row() {
    printf '%-10s %s   %s\n' "$1" \
        "$(awk -v column="$2" -v count="$count" '{ print count / $column / 1e6 }' runs | quartiles)" \
        "$(awk -v column="$2" '{ print $1 / $column }' runs | quartiles)"
}

short=$(generate $((records / 4)))
short_memory=$(memory)
count=$(generate "$records")
long_memory=$(memory)
i=0
while [ $i -lt "$runs" ]; do
    yardstick=$(run "$build/bench/yardstick" alpha/control alpha/data beta/control beta/data)
    stats=$(run "$build/dpm" stats --json alpha beta)
    dump=$(run "$build/dpm" dump alpha beta)
    echo "$yardstick $stats $dump"
    i=$((i + 1))
done > runs
echo "reading the standard trace of $count records on one CPU, $runs runs: median (quartiles)"
echo "           million records/s          of the yardstick's speed"
row yardstick 1
row "dpm stats" 2
row "dpm dump" 3
echo "anonymous memory of dpm stats: $short_memory MiB for $short records, $long_memory MiB for $count"
