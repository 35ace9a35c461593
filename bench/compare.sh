# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# compare.sh: measures and prints the overhead of a tool: a program with the tool, compared with the same program
# without. Every benchmark is called as `sh bench/NAME.sh BUILD_FOLDER`, begins by reading this file, and needs root.
#
#       loads.sh                  tools.sh
#       begin_LOAD, run_LOAD      put_on, take_off
#                  \               /
#                   '-- measure --'        one run: time, CPU time
#                          |
#                      compare            a row: PAIRS times without and with, in direct
#                                         succession; the ratios' median and quartiles
#
# From the environment: PAIRS (11), and RUN_TIME, the seconds of one run (0.25).
set -eu

[ "$(id -u)" = 0 ] || {
    echo "$0: the kernel meter and the other tools need privilege: run this as root" >&2
    exit 1
}
# In a separate network, so that no other traffic is seen there; and with the kernel's list of tracepoints, which perf
# and bpftrace read, mounted if it is not yet.
[ -n "${secluded:-}" ] || secluded=yes exec unshare --net --mount sh -ec '
    ip link set lo up
    [ -e /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
    exec sh "$@"' sh "$0" "$@"

here=$(dirname "$0")
scratch=$(mktemp -d)
# shellcheck source=tests/command/meter.sh
. "$here/../tests/command/meter.sh"
# shellcheck source=bench/loads.sh
. "$here/loads.sh"
# shellcheck source=bench/tools.sh
. "$here/tools.sh"
build=$1
pairs=${PAIRS:-11}
run_time=${RUN_TIME:-0.25}
LC_ALL=C
export LC_ALL

running= # processes to end in any case
clean_up() {
    trap '' HUP INT TERM # a second signal must not interrupt the clean-up
    end_processes $running
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# ended PROCESS: whether it has ended, even if it was not waited for.
ended() {
    ! grep -qsv ') Z ' "/proc/$1/stat"
}

# forget PROCESS: it was waited for; its number may be reused.
forget() {
    running=$(echo " $running " | sed "s/ $1 / /")
}

# end_processes PROCESS...: asks them to end, kills them after a while, and waits for them.
end_processes() {
    [ $# -gt 0 ] || return 0
    kill -TERM "$@" 2> "$scratch/end.err" || true
    for process in "$@"; do
        wait_for 20 ended "$process" || kill -KILL "$process" || true
        wait "$process" || true
        forget "$process"
    done 2> "$scratch/end.err"
}

# cpu_time PROCESS...: nanoseconds of CPU time so far, of all their present threads.
cpu_time() {
    for process in "$@"; do
        cat "/proc/$process/task/"*/schedstat 2> "$scratch/cat.err"
    done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# measure [TOOL OPTION...]: one run of the load, with the named tool, if any. Sets $figures: the time, the load's own
# CPU time and the tool's CPU time, in nanoseconds for each unit of the load. Returns 1, with $reason, if the tool does
# not work.
measure() {
    tool=
    failed=
    "begin_$load"
    [ $# = 0 ] || put_on "$@" || failed=yes
    before=$(cpu_time $tool)
    "run_$load"
    figures="$time $cpu $(echo "$before" "$(cpu_time $tool)" "$units" | awk '{ print ($2 - $1) / $3 }')"
    [ -z "$tool" ] || take_off
    [ -z "$failed" ]
}

# heading UNIT: the lines above the rows; UNIT is the load's unit, a round trip or a request.
heading() {
    echo
    echo "$load_title: median (quartiles) of $pairs pairs of runs of $run_time s"
    printf '%-34s  %-44s  %13s  %22s\n' "" "with / without" "without" "CPU time, us / $1"
    printf '%-34s  %-21s  %-21s  %10s  %11s %10s\n' "" "time" "CPU time" "${1}s/s" without "the tool's"
}

# row TITLE: prints the summary of the pairs on standard input, each a line of six figures: those of `measure` without
# the tool, then with it.
row() {
    awk -v title="$1" '
        function sorted_in(row, value,    i) {
            for (i = NR; i > 1 && row[i - 1] > value; i--)
                row[i] = row[i - 1]
            row[i] = value
        }
        function median(row) {
            return (row[int((NR + 1) / 2)] + row[int(NR / 2) + 1]) / 2
        }
        function quartiles(row,    first) {
            first = int((NR + 3) / 4)
            return sprintf("%6.3f (%.3f - %.3f)", median(row), row[first], row[NR + 1 - first])
        }
        {
            sorted_in(time, $4 / $1)
            sorted_in(cpu, $5 / $2)
            sorted_in(rate, 1e9 / $1)
            sorted_in(own, $2 / 1e3)
            sorted_in(tool, $6 / 1e3)
        }
        END {
            printf "%-34s  %-21s  %-21s  %13.0f  %11.3f %10.3f\n", title, quartiles(time),
                quartiles(cpu), median(rate), median(own), median(tool)
        }'
}

# compare TITLE TOOL OPTION...: a row.
compare() {
    title=$1
    shift
    pair=0
    : > "$scratch/pairs"
    while [ $pair -lt "$pairs" ]; do
        measure
        without=$figures
        measure "$@" || {
            printf '%-34s  does not work here: %s\n' "$title" "$reason"
            return 0
        }
        echo "$without $figures" >> "$scratch/pairs"
        pair=$((pair + 1))
    done
    row "$title" < "$scratch/pairs"
}

# compare_dpm KIND: dpm, with a load that uses this kind of path.
compare_dpm() {
    every= # dpm acquire does not meter pipes by default
    [ "$1" != pipe ] || every="--kinds all"
    # shellcheck disable=SC2086
    compare "dpm: send receive, coarse CPU time" dpm --flags "send receive" --cpu-time coarse $every
    compare "the same, $1 only" dpm --flags "send receive" --cpu-time coarse --kinds "$1"
    # shellcheck disable=SC2086
    compare "dpm: send receive pc" dpm --flags "send receive pc" $every
    compare "the same, $1 only" dpm --flags "send receive pc" --kinds "$1"
    # shellcheck disable=SC2086
    compare "dpm: all flags" dpm --flags all $every
    compare "the same, $1 only" dpm --flags all --kinds "$1"
}

compare_peers() {
    for peer in $peers; do
        compare "$(title_of "$peer")" "$peer"
    done
}
