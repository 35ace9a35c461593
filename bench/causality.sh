#!/bin/sh
# SPDX-License-Identifier: MIT
# causality.sh BUILD_FOLDER: the cost of finding request paths: the standard trace of RECORDS records (30,000,000), in
# SCRATCH (/dev/shm if it has space, so that no disk is measured), which is removed afterwards. Everything runs pinned
# to one CPU.
#
#   yardstick   reads the files and adds up one word for each record
#   matching    the program history of both traces, as separate sources
#   causality   the same, and the requests followed through it
#
# Each figure is the median of RUNS runs (5), with the three measurements in turn. Then the results and the memory, for
# that trace and for one of a quarter of its length. In the standard trace every process calls random others: request
# signatures are endless and all different, which is the worst case.
set -eu
build=$1
. "$(dirname "$0")/standard.sh"

output=output

short=$(generate $((records / 4)))
run "$build/bench/matching" --causality alpha beta > /dev/null
short_memory=$(tail -n 1 output)
count=$(generate "$records")
i=0
while [ $i -lt "$runs" ]; do
    yardstick=$(run_yardstick)
    matching=$(run "$build/bench/matching" alpha beta)
    causality=$(run "$build/bench/matching" --causality alpha beta)
    echo "$yardstick $matching $causality"
    i=$((i + 1))
done > runs
heading causality
row yardstick 1
row matching 2
row causality 3
sed -n 2p output
echo "$short_memory for $short records"
echo "$(tail -n 1 output) for $count records"
