#!/bin/sh
# SPDX-License-Identifier: MIT
# reading.sh BUILD_FOLDER: the cost of reading a trace: the standard trace of RECORDS records (30,000,000), in SCRATCH
# (/dev/shm if it has space, so that no disk is measured), which is removed afterwards. Everything runs pinned to one
# CPU.
#
#   yardstick      reads the files and adds up one word for each record
#   stats          dpm stats
#   stats --json   the same, with every row
#   dump           the lines for people, into /dev/null
#
# Then, on all CPUs, how long dpm report takes of a trace of at most a million records, with one thread and with two.
#
# Each figure is the median of RUNS runs (5), the five one right after the other. Then the memory
# of dpm stats --json, for that trace and for one of a quarter of its length.
set -eu
build=$1
. "$(dirname "$0")/standard.sh"

# memory: of dpm stats, in MiB.
memory() {
    "$build/bench/measure" measured taskset -c "$cpu" "$build/dpm" stats --json alpha beta > stats
    awk '{ printf "%.1f", $2 / 1024 }' measured
}

short=$(generate $((records / 4)))
short_memory=$(memory)
count=$(generate "$records")
long_memory=$(memory)
i=0
while [ $i -lt "$runs" ]; do
    yardstick=$(run_yardstick)
    stats=$(run "$build/dpm" stats alpha beta)
    json=$(run "$build/dpm" stats --json alpha beta 2> complaint)
    dump=$(run "$build/dpm" dump alpha beta)
    echo "$yardstick $stats $json $dump"
    i=$((i + 1))
done > runs
heading reading
row yardstick 1
row "stats" 2
row "stats --json" 3
row "dump" 4

# report THREADS: seconds.
report() {
    "$build/bench/measure" measured "$build/dpm" report --threads "$1" alpha beta > /dev/null
    awk '{ print $1 }' measured
}
[ "$records" -le 1000000 ] || fewer=$(generate 1000000)
i=0
while [ $i -lt "$runs" ]; do
    one=$(report 1)
    echo "$one $(report 2)"
    i=$((i + 1))
done > reports
echo "dpm report of ${fewer:-$count} records: $(awk '{ print $1 }' reports | quartiles) s with one thread," \
    "two take $(awk '{ print $2 / $1 }' reports | quartiles) of that"
echo "anonymous memory of dpm stats: $short_memory MiB for $short records, $long_memory MiB for $count"
