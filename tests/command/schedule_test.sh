#!/bin/sh
# SPDX-License-Identifier: MIT
# schedule_test.sh BUILD_FOLDER: SCHEDULE, and the load of the machine. A program's threads compete for a CPU with each
# other and with programs that only compute, and read what the kernel says: /proc/PID/task/TID/schedstat and getrusage.
# (What is found in it: machine.story.)
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
last_cpu=${last_cpu:-$first_cpu}

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

# record METER FLAGS: the program's lines in `out`, all records in `records`. Beside it two programs spin on each of two CPUs.
record() {
    rm -rf s.trace
    spin_later "$first_cpu" "$first_cpu" "$last_cpu" "$last_cpu"
    "$dpm" run --meter "$1" --kinds unix --flags "$2" -o s.trace --report none -- sh ./begin.sh "$competing" 100 "$first_cpu" \
        > out 2> err
    stop_later
    "$dpm" dump --json s.trace > records 2> dump.err
}

# agree: whether the last SCHEDULE of each thread says what the thread itself has read before its end. Since then, until the
# record, it can only have waited for as long as that took, and been switched so often.
agree() {
    jq -R 'split(" ") | map(tonumber) | {tid: .[0], waited: .[1], voluntary: .[2], involuntary: .[3], at: .[4]}' out |
        jq -s . > own.json
    jq -s -e --slurpfile own own.json '
        [.[] | select(.event == "SCHEDULE")] as $all |
        ($own[0] | length == 3) and ($own[0] | all(. as $own |
            ([$all[] | select(.tid == $own.tid)] | last) as $last | ($last.time_ns - $own.at) as $since |
            $since >= 0 and
            $last.runnable_ns >= $own.waited and $last.runnable_ns <= $own.waited + $since and
            $last.voluntary >= $own.voluntary and $last.voluntary <= $own.voluntary + 3 + $since / 1e5 and
            $last.involuntary >= $own.involuntary and $last.involuntary <= $own.involuntary + 3 + $since / 1e5))' records ||
        { cat out; jq -c 'select(.event == "SCHEDULE")' records | tail; false; }
}

# is_so FILTER: over all records.
is_so() {
    jq -s -e "$1" records
}

for which in kernel ptrace; do
    [ $which = ptrace ] || only_kernel "the kernel meter" "it has tests of its own" || continue
    repeat record $which all
    check "$which: the last SCHEDULE of a thread is what /proc and getrusage say ($(tr '\n' ';' < out))" agree
    # two programs that never sleep ran on the same CPU, all the time
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
    # (its beginning is known to a clock tick)
    check "$which: no thread has run and waited for longer than it lived" is_so '
        [.[] | select(.event == "STREAM") | {key: (.stream | tostring), value: .start}] as $starts | ($starts | reverse | from_entries) as $start |
        [.[] | select(.event == "SCHEDULE")] | length > 3 and all(.cpu_ns + .runnable_ns <= (.time_ns - $start[.stream | tostring]) * 1.01 + 2e7)'
    [ $which = ptrace ] || cp records kernel.records
done

if only_kernel "waits while a thread lives" "it reports only the end"; then
    cp kernel.records records
    check "a thread that has waited 1 ms more gets another one" is_so '
        [.[] | select(.event == "SCHEDULE")] | group_by(.stream) | all(
            [.[].runnable_ns] as $waits | [range(1; ($waits | length) - 1)] |
            all($waits[.] - $waits[. - 1] >= 1e6)) and (map(length) | max > 5)'
    check "load counts the runnable tasks of all CPUs ($(jq 'select(.event == "SEND").load' records | sort -n | tail -n 1))" \
        is_so '[.[] | select(.event == "SEND").load] | max >= 5'

    repeat record kernel schedule
    check "with the flag alone it comes, too" agree
    check "... and before the STREAM that ends one whose TERMINATION is not recorded" is_so '
        [.[] | select(.event == "SCHEDULE" or .event == "STREAM")] | group_by(.stream) |
        all(.[-1].event == "STREAM" and .[-2].event == "SCHEDULE")'

    # acquired processes: from before, and at the end of the recording
    spin "$first_cpu"
    "$competing" 20000 "$first_cpu" spin &
    victim=$!
    waited() {
        cut -d ' ' -f 2 /proc/$victim/schedstat
    }
    # shellcheck disable=SC2317 # called by wait_for
    has_waited() {
        [ "$(waited)" -ge "$1" ]
    }
    wait_for 30 has_waited 50000000
    before=$(waited)
    rm -rf s.trace
    take_over --kinds unix --report none -o s.trace $victim
    metered=$(waited)
    wait_for 30 has_waited $((metered + 110000000))
    let_go
    after=$(waited)
    kill $victim
    stop_spinning
    "$dpm" dump --json s.trace > records 2> dump.err
    check "an acquired process begins with what it has waited before" \
        is_so "[.[] | select(.event == \"SCHEDULE\")][0].runnable_ns as \$first | \$first >= $before and \$first <= $metered"
    check "... and ends with what it has waited when the recording ended" is_so "
        [.[] | select(.event == \"SCHEDULE\")] | last.runnable_ns as \$last | first.runnable_ns as \$first |
        \$last <= $after and \$last >= $metered + 110000000 and \$last - \$first >= 110000000"
fi

finish
