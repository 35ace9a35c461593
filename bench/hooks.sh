#!/bin/sh
# SPDX-License-Identifier: MIT
# hooks.sh BUILD_FOLDER: where the overhead of metering comes from: how often and how long each of the meter's hooks
# (BPF programs) runs for a message, when the ping-pong is metered and when only another program is. The figures include
# the kernel's own counting: a program that returns at once takes some 50 ns. They also include runs for other programs
# of the machine.
[ -n "${counting_runs:-}" ] || counting_runs=yes exec "$1/bench/bpf-stats" sh "$0" "$@"
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

# counts: a line `NAME NANOSECONDS RUNS` for each BPF program of the tool.
counts() {
    sed -n 's/^prog_id:[[:blank:]]*//p' "/proc/$tool/fdinfo/"* | sort -u > "$scratch/programs"
    bpftool prog show | awk '
        FILENAME != "-" { ours[$1 ":"]; next }
        $1 in ours {
            delete value
            for (i = 2; i < NF; i++)
                value[$i] = $(i + 1)
            print value["name"], value["run_time_ns"] + 0, value["run_cnt"] + 0
        }' "$scratch/programs" -
}

# breakdown HOW TOOL OPTION...: a row for each hook that runs at least once in 100 messages.
breakdown() {
    how=$1
    shift
    "begin_$load"
    put_on "$@" || {
        echo "$0: dpm does not work here: $reason" >&2
        exit 1
    }
    counts > "$scratch/before"
    "run_$load"
    counts > "$scratch/after"
    take_off
    messages=$((units * 2))
    printf '\n%s, %s: %d messages\n' "$load_title" "$how" $messages
    printf '%-26s  %10s  %14s  %10s  %12s  %8s\n' hook runs "runs / message" "ns / run" "ns / message" share
    awk '
        NR == FNR { time[$1] = $2; runs[$1] = $3; next }
        { print $1, $2 - time[$1], $3 - runs[$1] }' "$scratch/before" "$scratch/after" |
        sort -k 2nr | awk -v messages=$messages '
        function row(name, time, runs) {
            printf "%-26s  %10d  %14.3f  %10.1f  %12.1f  %6.1f %%\n", name, runs, runs / messages,
                runs ? time / runs : 0, time / messages, sum ? 100 * time / sum : 0
        }
        { sum += $2; all += $3 }
        $3 < messages / 100 { rare += $2; rarely += $3; next }
        { name[++n] = $1; time[n] = $2; runs[n] = $3 }
        END {
            for (i = 1; i <= n; i++)
                row(name[i], time[i], runs[i])
            row("those that run rarely", rare, rarely)
            row("all", sum, all)
        }'
}

for kind in tcp udp unix; do
    use_pingpong $kind
    for flags in "send receive" "send receive pc" all; do
        breakdown "metered: $flags" dpm --flags "$flags"
        breakdown "neighbour: $flags" neighbour --flags "$flags"
    done
done
use_pingpong pipe
breakdown "metered: send receive pc" dpm --flags "send receive pc" --kinds pipe
breakdown "neighbour: send receive pc" neighbour --flags "send receive pc" --kinds pipe
