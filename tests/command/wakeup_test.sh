#!/bin/sh
# SPDX-License-Identifier: MIT
# wakeup_test.sh BUILD_FOLDER: wakeups in real programs. Two parties take turns, with 2 ms of CPU time each, and all of
# it is on the critical path, whatever makes them wait for each other: so P is 1, and there are no waits for outside. If
# they do not wait, P is 2. make and Python's process pools wait for several things at once.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs jq make python3
only_kernel "who ends whose wait" "it does not tell" || finish
turns=40
dpm=$1/dpm
taking_turns=$1/tests/programs/taking-turns
cd "$scratch" || exit 1

# read_of COMMAND...: the analysis of a command's recording: read.json, and its events with their edges: events.json.
# Connections only of the kinds it uses: loading hooks takes longer than most of the commands.
kinds=pipe
read_of() {
    rm -rf read.trace
    "$dpm" run --meter kernel --kinds $kinds -o read.trace --report none -- "$@" > out 2> err || cat err
    "$dpm" parallelism --json --one-each read.trace > read.json 2>> err
    "$dpm" dump --matched --json read.trace > events.json 2>> err
}

# is_so FILTER: for read.json.
is_so() {
    jq -e "$1" read.json
}

# said: P, and what was waited for.
said() {
    jq -r '"P \(.rows[0].P * 100 | round / 100), \(.trace.asleep.count) unexplained, " +
        "\(.trace.asleep.time_ns / 1e6 | round) of \(.trace.duration_ns / 1e6 | round) ms"' read.json
}

# wakeups: how often one party woke the other that then computes, according to edges.
wakeups() {
    jq -s '[.[] | .stream as $stream | .edges[]? | select(.kind == "wakeup" and .stream != $stream)] | length' events.json
}

# Something outside may hold a party up now and then (the disk, another program): that time is no wait for the other one.
in_turn='(.rows[0].T_ns / (.rows[0].tmax_ns - .trace.asleep.time_ns)) as $P | $P > 0.95 and $P < 1.5'
at_once='.rows[0].T_ns / (.rows[0].tmax_ns - .trace.asleep.time_ns)'
explained=".trace | .asleep.count <= $turns / 8 and .locks.count == 0"
ways='lock signal poll'
! long_ones || ways='lock semaphore signal event poll join'
for how in $ways; do
    read_of "$taking_turns" "$how" $turns
    check "turns by $how: one after the other ($(said))" is_so "$in_turn"
    check "... and nothing outside is waited for" is_so "$explained"
    check "... each was woken by the other one, except those not asleep yet ($(wakeups))" \
        test "$(wakeups)" -ge $((turns))
done
long_ones || skip "turns by semaphore, event and join" "takes long: only with ./dev test --all"
kinds=tcp
read_of "$taking_turns" tcp $turns
kinds=pipe
check "turns by TCP: one after the other ($(said))" is_so "$in_turn"
check "... and nothing outside is waited for" is_so "$explained"
check "... the network wakes, which is no stream ($(wakeups))" test "$(wakeups)" -le 5
read_of "$taking_turns" apart $turns
check "apart: both at the same time ($(said))" is_so "$at_once > 1.5 and .rows[0].P < 2.1"
read_of "$taking_turns" sleep $turns
check "sleep: no stream ends it ($(said), $(wakeups))" test "$(wakeups)" -eq 0
check "... and it takes its time" is_so ".trace.asleep | .count >= $turns and .time_ns >= 2e6 * $turns"

# On one processor, the timer that ends the sleep of one interrupts the other, which computes.
read_of taskset -c 0 sh -c "'$taking_turns' alone 200 & '$taking_turns' sleep $turns; wait"
check_equal "a timer beside a computing process: no stream ends the sleep" 0 "$(jq -s '
    (map(select(.event == "STREAM" and .name == "taking-turns")) | map(.stream)) as $parties
    | [.[] | select(.event == "WAKEUP" and ([.stream, .woken] - $parties == []))] | length' events.json)"

# Four jobs of 40 ms each.
printf '%s\n' 'all: one two three four' 'one two three four:' "	@'$taking_turns' alone 20" \
    '.PHONY: all one two three four' > Makefile
read_of make -j 2
check "make -j 2: waits for its children ($(said))" is_so "$at_once > 1.2 and .rows[0].P < 2.1"
if long_ones; then
    read_of make -j 1
    check "make -j 1: one after the other ($(said))" is_so '.rows[0] | .P > 0.8 and .P < 1.5'
else
    skip "make -j 1: one after the other" "takes long: only with ./dev test --all"
fi

cat > pool.py << 'END'
import multiprocessing, sys, time
def compute(number):
    end = time.process_time() + 0.01
    while time.process_time() < end:
        pass
    return number
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        sum(pool.imap_unordered(compute, range(60)))
        print([process.pid for process in multiprocessing.active_children()])
END
# One of them may get most of the work, but what the other one computes meanwhile is not on the critical path.
read_of python3 pool.py
check "a pool of two processes of Python's: both at the same time ($(said))" jq -e --argjson pool "$(cat out)" '
    [.processes[] | select(.pid == $pool[]).cpu_ns] as $cpu | ($cpu | length) == 2 and
    (.rows[0] | .T_ns - .tmax_ns > 0.8 * ($cpu | min) and .tmax_ns >= ($cpu | max))' read.json

finish
