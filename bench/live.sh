#!/bin/sh
# SPDX-License-Identifier: MIT
# live.sh BUILD_FOLDER: what snapshots cost: CPU time of `dpm stats --interval --json` over that of `dpm stats --json`, for the
# standard trace of RECORDS records (2,000,000), which takes a second for a million of them. Pinned to one CPU; RUNS runs (5)
# of each, in turn: the median of the ratios of two that follow each other.
#
#   1s             a snapshot for every second of the trace: what it costs to count waits, too, and what a snapshot costs
#   100ms          ten times as many snapshots
#   top            the same as a picture of dpm top, each second
set -eu
build=$1
RECORDS=${RECORDS:-2000000}
. "$(dirname "$0")/standard.sh"

# cpu COMMAND...: seconds of CPU time.
cpu() {
    /usr/bin/python3 -c '
import os, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
times = os.times()
print(times.children_user + times.children_system)' taskset -c "$cpu" "$@"
}

count=$(generate "$records")
i=0
while [ $i -lt "$runs" ]; do
    stats=$(cpu "$build/dpm" stats --json alpha beta 2> complaint)
    second=$(cpu "$build/dpm" stats --interval 1s --json alpha beta)
    tenth=$(cpu "$build/dpm" stats --interval 100ms --json alpha beta)
    top=$(cpu "$build/dpm" top --interval 1s alpha beta < /dev/null)
    echo "$stats $second $tenth $top"
    i=$((i + 1))
done > runs
echo "$count records, CPU time over that of dpm stats --json ($(awk '{ print $1 }' runs | quartiles) s):"
for column in 2:1s 3:100ms 4:top; do
    echo "${column#*:} $(awk -v column="${column%%:*}" '{ print $column / $1 }' runs | quartiles)"
done
