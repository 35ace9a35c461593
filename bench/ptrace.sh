#!/bin/sh
# SPDX-License-Identifier: MIT
# ptrace.sh BUILD_FOLDER: the overhead of the ptrace meter, compared with strace, which stops a program at the same
# calls in the same way. Both start their program, so whole runs are compared: one without, one with dpm, one with
# strace, in turn. Everything runs on one CPU, so the time is the total CPU time: on several, it depends on the
# scheduler's placement.
#
#       pingpong      two processes pass a message back and forth: nanoseconds for a round trip (4 messages' calls)
#       processes     a shell that starts programs: seconds in all
#
# From the environment: PAIRS (7) runs of each, ROUNDS (2000) of a pingpong. No privilege is needed.
set -eu
here=$(dirname "$0")
# shellcheck source=bench/quartiles.sh
. "$here/quartiles.sh"
build=$1
dpm=$build/dpm
pairs=${PAIRS:-7}
rounds=${ROUNDS:-2000}
taskset -cp $(($(nproc) - 1)) $$ > /dev/null
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# The calls at which the meter's filter stops.
calls=network,read,write,readv,writev,preadv2,pwritev2,sendfile,splice,tee,vmsplice,close,dup2,dup3
calls=$calls,pipe,pipe2,poll,ppoll,select,pselect6,epoll_wait,epoll_pwait,wait4,waitid,nanosleep
calls=$calls,clock_nanosleep

# with_TOOL COMMAND...
with_nothing() {
    "$@"
}

with_dpm() {
    rm -rf "$scratch/trace"
    "$dpm" run --meter ptrace -o "$scratch/trace" --report "$scratch/report" -- "$@"
}

with_dpm_send_receive() {
    rm -rf "$scratch/trace"
    "$dpm" run --meter ptrace --flags send,receive -o "$scratch/trace" --report "$scratch/report" \
        -- "$@"
}

with_survive() {
    rm -rf "$scratch/trace"
    "$dpm" run --meter ptrace --survive -o "$scratch/trace" --report "$scratch/report" -- "$@"
}

with_strace() {
    strace -f --seccomp-bpf -qq -e trace="$calls" -o "$scratch/strace" -- "$@"
}

# The figure of one run.
pingpong() {
    kind=$1
    shift
    "$@" "$build/bench/pingpong" "$kind" "$rounds" 5 | awk '{ print $1 }'
}

processes() {
    shift
    "$@" "$build/bench/measure" "$scratch/measured" \
        sh -c 'i=0; while [ $i -lt 40 ]; do echo $i | /bin/cat; i=$((i + 1)); done' > "$scratch/out"
    awk '{ print $1 }' "$scratch/measured"
}

# compare LOAD KIND: rows of ratios to runs without a tool.
compare() {
    tools="dpm dpm_send_receive survive strace"
    run=0
    while [ $run -lt "$pairs" ]; do
        for tool in nothing $tools; do
            "$1" "$2" "with_$tool" >> "$scratch/$tool.figures"
        done
        run=$((run + 1))
    done
    for tool in $tools; do
        printf '%-10s %-6s %-18s %s\n' "$1" "$2" "$tool" \
            "$(paste "$scratch/nothing.figures" "$scratch/$tool.figures" |
                awk '{ print $2 / $1 }' | quartiles)"
    done
    printf '%-10s %-6s %-18s %s\n' "$1" "$2" "dpm / strace" \
        "$(paste "$scratch/strace.figures" "$scratch/dpm.figures" | awk '{ print $2 / $1 }' |
            quartiles)"
    rm -f "$scratch"/*.figures
}

echo "time with / without: median (quartiles) of $pairs runs each"
for kind in tcp unix pipe; do
    compare pingpong $kind
done
compare processes -
