#!/bin/sh
# SPDX-License-Identifier: MIT
# matching.sh BUILD_FOLDER: the cost of matching receives with sends: the standard trace of RECORDS records
# (30,000,000), in SCRATCH (/dev/shm if it has space, so that no disk is measured), which is removed afterwards.
# Everything runs pinned to one CPU.
#
#   yardstick   reads the files and adds up one word for each record
#   matching    the program history of both traces, as separate sources
#
# Each figure is the median of RUNS runs (5), with the two measurements in turn. Then the matching counts and the
# memory, for that trace and for one of a quarter of its length.
set -eu
build=$1
. "$(dirname "$0")/standard.sh"

output=output

short=$(generate $((records / 4)))
run "$build/bench/matching" alpha beta > /dev/null
short_memory=$(tail -n 1 output)
count=$(generate "$records")
i=0
while [ $i -lt "$runs" ]; do
    yardstick=$(run_yardstick)
    matching=$(run "$build/bench/matching" alpha beta)
    echo "$yardstick $matching"
    i=$((i + 1))
done > runs
heading matching
row yardstick 1
row matching 2
sed -n 2p output
echo "$short_memory for $short records, $(tail -n 1 output | sed 's/anonymous memory //') for $count"
