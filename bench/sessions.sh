#!/bin/sh
# SPDX-License-Identifier: MIT
# sessions.sh BUILD_FOLDER: the overhead of two recordings of one program at the same time, with different flags, compared
# with one: each has hooks of its own. And the same for a program that neither meters.
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

# Two recordings: of all flags, and of sends and receives. Ends both when it is told to end.
start_two() {
    "$dpm" acquire -o "$output" --duration 60s --flags all "$@" $watched &
    first=$!
    "$dpm" acquire -o "$output.second" --duration 60s --flags "send receive" "$@" $watched > "$said.second" 2>&1 &
    second=$!
    trap 'kill -TERM $first $second; wait $first $second; rm -rf "$output.second" "$said.second"; exit 0' TERM
    wait $first $second
}

ready_two() {
    ready_dpm && grep -q '^dpm: metering' "$said.second"
}

start_two_neighbours() {
    watched=$bystander
    start_two "$@"
}

ready_two_neighbours() {
    ready_two
}

for kind in ${LOADS:-tcp unix}; do
    use_pingpong "$kind"
    heading "round trip"
    compare "one: all flags" dpm --flags all
    compare "one: send receive" dpm --flags "send receive"
    compare "two: both of these" two
    compare "neighbour of one" neighbour --flags all
    compare "neighbour of two" two_neighbours
done
