#!/bin/sh
# SPDX-License-Identifier: MIT
# schedule_test.sh BUILD_FOLDER: SCHEDULE, and the load of the machine. A program's threads compete for a CPU with each
# other and with programs that only compute, and read what the kernel says: /proc/PID/task/TID/schedstat and getrusage.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs jq
[ "$(id -u)" = 0 ] || skip_all "needs root, for real-time priorities"
competing=$1/tests/programs/competing
cd "$scratch" || exit 1
[ -r /proc/self/schedstat ] || skip_all "this kernel does not count how long threads wait for a CPU"
first_cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
last_cpu=$(sed -n 's/^Cpus_allowed_list:.*[^0-9]\([0-9]*\)$/\1/p' /proc/self/status)

# spin CPU...: programs that compute until they are stopped, or for twenty seconds of CPU time.
spinners=
spin() {
    for cpu in "$@"; do
        "$competing" 20000 "$cpu" spin &
        spinners="$spinners $!"
    done
}

stop_spinning() {
    # shellcheck disable=SC2086 # several
    kill $spinners
    # shellcheck disable=SC2086
    wait $spinners 2> /dev/null
    spinners=
}

# spin_later CPU...: spins as soon as begin.sh, which a meter runs, has begun: loading the meter takes long. begin.sh COMMAND...
# executes the command when they spin.
mkfifo go
cat > begin.sh << 'END'
: > started
read -r _ < go
exec "$@"
END
spin_later() {
    rm -f started spinning
    {
        wait_for 60 test -e started && spin "$@" && echo "$spinners" > spinning && echo > go
        wait
    } &
    later=$!
}

stop_later() {
    # shellcheck disable=SC2046 # several
    kill $(cat spinning) $later
    wait $later 2> /dev/null
}

# record METER [OPTION...]: the program's lines in `out`, all records in `records`.
record() {
    which=$1
    shift
    rm -rf s.trace
    spin_later "$first_cpu" "$first_cpu"
    watched "$dpm" run --meter "$which" --kinds unix "$@" -o s.trace --report none -- sh ./begin.sh "$competing" 100 "$first_cpu" \
        > out 2> err
    stop_later
    "$dpm" dump --json s.trace > records 2> dump.err
}

# record_alone [OPTION...]: the same without programs that spin, by the kernel meter.
record_alone() {
    rm -rf s.trace
    "$dpm" run --meter kernel --kinds unix "$@" -o s.trace --report none -- "$competing" 30 "$first_cpu" > out 2> err
    "$dpm" dump --json s.trace > records 2> dump.err
}

# read_program: what the program has printed, as JSON.
read_program() {
    jq -R 'split(" ") | map(tonumber) | {tid: .[0], waited: .[1], voluntary: .[2], involuntary: .[3]}' out | jq -s .
}

# agree MS SWITCHES: whether the last SCHEDULE of each thread says what the thread itself has read a moment before its
# end. Since then it had a real-time priority: it may have slept, as for a lock, but has hardly waited for its CPU, unless
# that stood still.
agree() {
    jq -s -e --argjson program "$(read_program)" --argjson ms "$(($1 + stalled / 1000000))" --argjson switches "$2" '
        [.[] | select(.event == "SCHEDULE")] as $all |
        ($program | length == 3) and ($program | all(. as $own |
            [$all[] | select(.tid == $own.tid)] | last as $told |
            $told.runnable_ns >= $own.waited and $told.runnable_ns < $own.waited + $ms * 1e6 and
            $told.voluntary >= $own.voluntary and $told.voluntary <= $own.voluntary + $switches and
            $told.involuntary >= $own.involuntary and $told.involuntary <= $own.involuntary + $switches))' records ||
        { cat out; jq -c 'select(.event == "SCHEDULE")' records | tail; false; }
}

# is_so FILTER: over all records.
is_so() {
    jq -s -e "$1" records
}

for which in kernel ptrace; do
    [ $which = ptrace ] || only_kernel "the kernel meter" "it has tests of its own" || continue
    repeat record $which --flags all
    check "$which: the last SCHEDULE of a thread is what /proc and getrusage say ($(tr '\n' ';' < out))" agree 5 12
    check "$which: the competition was real" \
        is_so '[.[] | select(.event == "SCHEDULE") | .runnable_ns] | max > 1e8'
    check "$which: it comes just before the end" is_so '
        [.[] | select(.event == "SCHEDULE" or .event == "TERMINATION")] | group_by(.stream) |
        all(.[-1].event == "TERMINATION" and .[-2].event == "SCHEDULE")'
    # that of a running thread includes interrupts since its last tick, which the scheduler then takes off (write.bpf.h)
    check "$which: totals never decrease, CPU time by 1 ms at most" is_so '
        [.[] | select(.event == "SCHEDULE")] | group_by(.stream) | all(
            [.[].runnable_ns] == ([.[].runnable_ns] | sort) and [.[].voluntary] == ([.[].voluntary] | sort) and
            . as $all | [range(1; length) | $all[.].cpu_ns - $all[. - 1].cpu_ns] | all(. >= -1000000))'
    check "$which: the command has one from before it was metered, its threads have not" is_so '
        ([.[] | select(.event == "SCHEDULE")][0] | .stream) == 1 and
        ([.[] | select(.event == "SCHEDULE" and .stream == 1)][0].time_ns <
            [.[] | select(.event == "EXEC")][0].time_ns)'
    [ $which = ptrace ] || cp records kernel.records
done

if only_kernel "waits while a thread lives" "it reports only the end"; then
    cp kernel.records records
    check "a thread that has waited 1 ms more gets another one" is_so '
        [.[] | select(.event == "SCHEDULE")] | group_by(.stream) | all(
            [.[].runnable_ns] as $waits | [range(1; ($waits | length) - 1)] |
            all($waits[.] - $waits[. - 1] >= 1e6)) and (map(length) | max > 5)'
    # A thread that never sleeps either runs or waits for a CPU. Its end comes later than its last record by little.
    check "the time of a thread that never sleeps is what it has run and waited" is_so '
        ([.[] | select(.event == "STREAM" and .parent != 0)] | min_by(.stream)) as $stream |
        [.[] | select(.event == "SCHEDULE" and .stream == $stream.stream)] | last |
        (.time_ns - $stream.start) as $elapsed | (.cpu_ns + .runnable_ns) as $sum |
        .voluntary < 5 and $sum <= $elapsed * 1.01 and $sum > $elapsed * 0.9'

    record_alone --flags all,-schedule
    check "without the flag there is none" is_so '[.[] | select(.event == "SCHEDULE")] | length == 0'
    repeat record kernel --flags schedule
    check "with the flag alone it comes, too" agree 5 12
    record_alone --flags schedule,send,-termination
    check "... and before the STREAM that ends one whose TERMINATION is not recorded" is_so '
        [.[] | select(.event == "SCHEDULE" or .event == "STREAM")] | group_by(.stream) |
        all(.[-1].event == "STREAM" and .[-2].event == "SCHEDULE")'

    # acquired processes: from before, and at the end of the recording
    spin "$first_cpu"
    "$competing" 20000 "$first_cpu" spin &
    victim=$!
    sleep 0.3
    before=$(cut -d ' ' -f 2 /proc/$victim/schedstat)
    rm -rf s.trace
    take_over --kinds unix --report none -o s.trace $victim
    sleep 0.5
    let_go
    after=$(cut -d ' ' -f 2 /proc/$victim/schedstat)
    kill $victim
    stop_spinning
    "$dpm" dump --json s.trace > records 2> dump.err
    check "an acquired process begins with what it has waited before" \
        is_so "[.[] | select(.event == \"SCHEDULE\")][0].runnable_ns as \$first | \$first >= $before and \$first <= $after"
    check "... and ends with what it has waited when the recording ended" is_so "
        [.[] | select(.event == \"SCHEDULE\")] | last.runnable_ns as \$last | first.runnable_ns as \$first |
        \$last <= $after and \$last - \$first > 1e8"

    # ---- load ----

    spin_later "$first_cpu" "$first_cpu" "${last_cpu:-$first_cpu}" "${last_cpu:-$first_cpu}"
    rm -rf s.trace
    "$dpm" run --meter kernel --kinds unix -o s.trace --report none -- sh ./begin.sh "$competing" 60 "$first_cpu" > out 2> err
    stop_later
    "$dpm" dump --json --type SEND s.trace > records 2> dump.err
    check "load counts the runnable tasks of all CPUs ($(jq .load records | sort -n | tail -n 1))" \
        is_so '[.[].load] | max >= 5'
fi

finish
