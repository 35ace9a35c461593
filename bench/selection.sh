#!/bin/sh
# SPDX-License-Identifier: MIT
# selection.sh BUILD_FOLDER: what a metered call takes in the kernel if selection rules discard its records there, beside one
# whose records are made: the time of all hooks (the kernel counts it, which takes some 50 ns for each) for each call of a TCP
# ping-pong, metered for sends and receives. The median of RUNS runs (7) of each, taken in turns.
[ -n "${counting_runs:-}" ] || counting_runs=yes exec "$1/bench/bpf-stats" sh "$0" "$@"
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"
. "$(dirname "$0")/quartiles.sh"
runs=${RUNS:-7}

# rules NUMBER: that many, none of which accepts a message; half ask for a number, half for a process.
rules() {
    i=0
    while [ $i -lt "$1" ]; do
        [ $((i % 2)) = 0 ] && echo "bytes=$((1000000000 + i));" || echo "process=nobody$i;"
        i=$((i + 1))
    done
}
echo 'type=*;' > "$scratch/kept.rules"
echo 'type=exec;' > "$scratch/type.rules"
echo 'bytes>1G;' > "$scratch/number.rules"
echo 'process=nobody;' > "$scratch/process.rules"
echo 'port=1;' > "$scratch/path.rules"
rules 60 > "$scratch/sixty.rules"

# spent: ns that the tool's hooks have taken so far.
spent() {
    sed -n 's/^prog_id:[[:blank:]]*//p' "/proc/$tool/fdinfo/"* 2> "$scratch/gone" | sort -u > "$scratch/programs"
    bpftool prog show | awk '
        FILENAME != "-" { ours[$1 ":"]; next }
        $1 in ours { for (i = 2; i < NF; i++) if ($i == "run_time_ns") sum += $(i + 1) }
        END { print sum + 0 }' "$scratch/programs" -
}

# each_call [RULES]: ns in hooks for each call.
each_call() {
    begin_pingpong
    put_on dpm --kinds tcp --flags "send receive" ${1:+--rules "$scratch/$1.rules"} || {
        echo "$0: dpm does not work here: $reason" >&2
        exit 1
    }
    sleep 0.3 # the recorder has read who the processes are
    before=$(spent)
    run_pingpong
    echo "$(($(spent) - before)) $units" | awk '{ print $1 / $2 / 4 }'
    take_off
}

use_pingpong tcp
run=0
while [ $run -lt "$runs" ]; do
    echo "$(each_call) $(each_call kept) $(each_call type) $(each_call number) $(each_call process) $(each_call path) $(each_call sixty)"
    run=$((run + 1))
done > "$scratch/calls"

# call NAME COLUMN: a row.
call() {
    printf '%-28s %-32s %s\n' "$1" "$(awk -v column="$2" '{ print $column }' "$scratch/calls" | quartiles)" \
        "$(awk -v column="$2" '{ print $column / $1 }' "$scratch/calls" | quartiles)"
}
echo
echo "a metered call of a TCP ping-pong: time in hooks, $runs runs of $run_time s: median (quartiles)"
echo "                             ns for each call                 of that without rules"
call "recorded, no rules" 1
call "recorded: rules accept it" 2
call "discarded by its type" 3
call "discarded by a number" 4
call "discarded by the process" 5
call "discarded by the port" 6
call "discarded by 60 rules" 7
