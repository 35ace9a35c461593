#!/bin/sh
# SPDX-License-Identifier: MIT
# pingpong.sh BUILD_FOLDER: what metering costs a program that does nothing but pass messages: TCP, UDP
# and UNIX ping-pong pinned to one CPU. Each figure is the median of PAIRS ratios metered / unmetered,
# the two measured one right after the other (11 pairs, ROUNDS round trips each).
set -eu
. "$(dirname "$0")/quartiles.sh"
build=$1
pairs=${PAIRS:-11}
rounds=${ROUNDS:-100000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

plain() {
    "$build/bench/pingpong" "$1" "$rounds"
}

# The reader runs on the other CPU, as the program is pinned to one.
metered() {
    kind=$1
    shift
    rm -rf "$scratch/bench.trace"
    "$build/dpm" run -o "$scratch/bench.trace" --report "$scratch/report" "$@" -- \
        "$build/bench/pingpong" "$kind" "$rounds"
    grep -q ' 0 lost' "$scratch/report" || echo "pingpong.sh: records were lost" >&2
}

# The program itself is not metered, another one is (and idle): the price of hooks that see others.
neighbour() {
    kind=$1
    shift
    rm -rf "$scratch/bench.trace"
    "$build/dpm" run -o "$scratch/bench.trace" --report "$scratch/report" "$@" -- sleep 100 &
    meter=$!
    while ! [ -s "$scratch/bench.trace/metadata" ]; do sleep 0.05; done
    sleep 0.2
    plain "$kind"
    pkill -TERM -P $meter sleep
    wait $meter || true
}

# compare NAME KIND HOW OPTION...
compare() {
    name=$1
    kind=$2
    how=$3
    shift 3
    i=0
    while [ $i -lt "$pairs" ]; do
        echo "$(plain "$kind") $("$how" "$kind" "$@")"
        i=$((i + 1))
    done > "$scratch/pairs"
    printf '%-34s %s   %s\n' "$name" "$(awk '{ print $2 / $1 }' "$scratch/pairs" | quartiles)" \
        "$(awk '{ print $1 / 1000 }' "$scratch/pairs" | quartiles)"
}

echo "ping-pong on one CPU, $pairs pairs of $rounds round trips: median (quartiles)"
echo "                                   metered / unmetered      unmetered, us per round trip"
for kind in tcp udp unix; do
    compare "$kind: send receive" $kind metered --flags "send receive"
    compare "$kind: ... and coarse CPU time" $kind metered --flags "send receive" --cpu-time coarse
    compare "$kind: ... and PC" $kind metered --flags "send receive pc"
    compare "$kind: all flags without PC" $kind metered --flags "all,-pc"
    compare "$kind: all flags" $kind metered --flags all
    compare "$kind: neighbour, send receive" $kind neighbour --flags "send receive"
    compare "$kind: neighbour, all flags" $kind neighbour --flags all
done
