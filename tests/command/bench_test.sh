#!/bin/sh
# SPDX-License-Identifier: MIT
# bench_test.sh BUILD_FOLDER: the benchmarks still run, with as little work as they can do. Those that take longer than some
# seconds even then (pingpong, hooks, redis, nginx, ptrace, writing, prediction) are left out; they share compare.sh,
# loads.sh, tools.sh and standard.sh with these.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
bench=$(realpath "$(dirname "$0")/../../bench")
build=$1
cd "$scratch" || exit 1
export PAIRS=1 RUN_TIME=0.02 LOADS=unix RUNS=1 RECORDS=40000 SCRATCH="$scratch"

for name in sessions start state matching causality parallelism reading; do
    check "$name runs" timeout 60 sh "$bench/$name.sh" "$build"
    mv tap.output $name
    check_not "... with everything that it compares" grep -q 'does not work here' $name
done
check "a row has figures" grep -qE '^one: all flags +[0-9.]+ \([0-9.]+ - [0-9.]+\) ' sessions
finish
