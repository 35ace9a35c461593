#!/bin/sh
# SPDX-License-Identifier: MIT
# parallelism.sh BUILD_FOLDER: how fast `dpm parallelism` processes the standard trace of RECORDS records (30,000,000),
# in SCRATCH (/dev/shm if it has space), which is removed afterwards. Everything runs pinned to one CPU.
#
#   yardstick   reads the files and adds up one word for each record
#   matching    the program history of both traces, on which the analyses are based
#   one each    steps max and delay, of one assignment
#   delay       the same for three assignments
#   sharing     all three steps of two assignments
#   path        the critical path itself: the traces twice, the graph three times
#
# Each figure is the median of RUNS runs (5). Then the anonymous memory of `delay` and of `sharing`.
set -eu
build=$1
. "$(dirname "$0")/standard.sh"

# ask OPTION...: seconds of a `dpm parallelism` in which each thread is a stream.
ask() {
    TMPDIR=$scratch run "$build/dpm" parallelism --streams threads --json "$@" alpha beta
}

# memory COMMAND...: maximum of anonymous memory, MiB, sampled ten times a second.
memory() {
    TMPDIR=$scratch "$@" > /dev/null &
    most=0
    while kill -0 $! 2> /dev/null; do
        now=$(awk '/^RssAnon/ { print $2 }' "/proc/$!/status" 2> /dev/null) || break
        [ "${now:-0}" -le $most ] || most=$now
        sleep 0.1
    done
    wait $!
    awk -v most=$most 'BEGIN { printf "%.1f MiB", most / 1024 }'
}

count=$(generate "$records")
i=0
while [ $i -lt "$runs" ]; do
    yardstick=$(run_yardstick)
    matching=$(run "$build/bench/matching" alpha beta)
    one=$(ask --step delay --one-each)
    three=$(ask --step delay)
    two=$(ask --step delay --one-each --one-machine)
    sharing=$(ask --one-each --one-machine)
    path=$(TMPDIR=$scratch run "$build/dpm" path --json alpha beta)
    echo "$yardstick $matching $one $three $two $sharing $path"
    i=$((i + 1))
done > runs
heading parallelism
row yardstick 1
row matching 2
row 'one each' 3
row 'delay' 4
row 'sharing' 6
row path 7
printf 'step sharing alone, of two assignments: %s million records/s each\n' \
    "$(awk -v count="$count" '{ print 2 * count / ($6 - $5) / 1e6 }' runs | quartiles)"
echo "anonymous memory: steps max and delay $(memory "$build/dpm" parallelism --streams threads --step delay alpha beta)," \
    "sharing $(memory "$build/dpm" parallelism --streams threads alpha beta)"
