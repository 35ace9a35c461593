# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
# study.sh: shared by the studies; each is called as `sh examples/studies/NAME.sh BUILD_FOLDER` and begins by reading
# this file. Programs run in short slices (short_slices.c).
#
#     run program under dpm ──► analyse the trace ──► a figure ─┐ RUNS times
#                                                    median ◄───┘
#                               a table of medians ──► the papers' statements about it: "ok", or "NOT"
#
# From the environment: RUNS (5); DPM, the program (BUILD_FOLDER/dpm); CURVES, the folder for pictures of curves
# (BUILD_FOLDER/examples/studies).
set -eu
LC_ALL=C
export LC_ALL

if [ $# -ne 1 ]; then
    echo "usage: sh $0 BUILD_FOLDER" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
if [ -z "${STUDY_IN_SHORT_SLICES-}" ]; then
    STUDY_IN_SHORT_SLICES=yes
    export STUDY_IN_SHORT_SLICES
    exec "$build/examples/studies/short-slices" sh "$0" "$build"
fi
dpm=${DPM:-$build/dpm}
runs=${RUNS:-5}
curves=${CURVES:-$build/examples/studies}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
said=0
broken=0

# ---- dpm's options, and how it names assignments: known only here ----

option_one_machine='--one-machine'
option_messages_metered='--flags send,receive,receivecall' # of dpm run, as in the thesis
option_messages_graph='--edges messages'                    # the same of dpm parallelism
row_one_each='one-each' # always shown
row_one_machine='one-machine'

# option_delay SCALE: the delivery times of figure 5.11, by length of the message, with this many microseconds for each
# millisecond of the thesis.
option_delay() {
    awk -v scale="$1" 'BEGIN {
        printf "--local-delay 1:%gus,10:%gus,100:%gus,1000:%gus ", 4.2 * scale, 4.3 * scale, 5.0 * scale, 12.8 * scale
        printf "--remote-delay 1:%gus,10:%gus,100:%gus,1000:%gus\n", 13 * scale, 13.1 * scale, 16 * scale, 35 * scale
    }'
}

# option_without PROGRAM...: leaves out their processes in the trace.
option_without() {
    pids "$@" | sed 's/^/--without /'
}

# option_place NAME MACHINE...: an assignment of the trace's processes, whose rows are called NAME. A machine has one
# processor, and is given by the pids of its processes, separated by commas.
option_place() {
    file=$scratch/$1
    shift
    : > "$file"
    machine=0
    for processes; do
        machine=$((machine + 1))
        echo "machine m$machine 1" >> "$file"
    done
    machine=0
    for processes; do
        machine=$((machine + 1))
        echo "$processes" | tr ',' '\n' | sed "s/\$/ m$machine/" >> "$file"
    done
    echo "--assign $file"
}

# option_servers PROGRAM,...: for dpm causality, one letter for each program; each send is a message, and belongs to the
# last receive, as in the thesis.
option_servers() {
    echo "--last --by-program --each-send --server $1"
}

# ---- running and reading ----

# has COMMAND: whether this dpm has that command.
has() {
    "$dpm" "$1" --help > /dev/null 2>&1
}

# record COMMAND...: its trace is $scratch/trace, its statistics $scratch/stats, its output $scratch/out; $metered is
# the options of dpm run.
metered=
record() {
    rm -rf "$scratch/trace"
    # shellcheck disable=SC2086 # options are words
    "$dpm" run $metered -o "$scratch/trace" -- "$@" > "$scratch/out" 2> "$scratch/err" || {
        cat "$scratch/err" >&2
        exit 1
    }
    "$dpm" stats --json "$scratch/trace" > "$scratch/stats"
    lost=$(jq .trace.lost "$scratch/stats")
    [ "$lost" = 0 ] || echo "$lost records were lost: $*" >&2
}

# pids PROGRAM...: the trace's processes that run one of them, in order of appearance.
pids() {
    jq -r --args '.processes[] | select([.name] | inside($ARGS.positional)) | .pid' "$@" < "$scratch/stats"
}

# together PROGRAM...: their processes as a machine of option_place.
together() {
    pids "$@" | paste -s -d ,
}

# parallelism OPTION...: of the trace, as JSON in $scratch/parallelism.
parallelism() {
    "$dpm" parallelism --json "$@" "$scratch/trace" > "$scratch/parallelism"
}

# p_of ASSIGNMENT STEP: from that file.
p_of() {
    jq -r --arg assignment "$1" --arg step "$2" '
        [.rows[] | select(.assignment == $assignment and .step == $step) | .P] |
        if length == 1 then .[0] else error("no row " + $assignment + " " + $step) end' \
        "$scratch/parallelism"
}

# ---- medians ----

# note KEY VALUE: one run's figure.
note() {
    echo "$2" >> "$scratch/figure.$1"
}

# forget: removes all figures.
forget() {
    rm -f "$scratch"/figure.*
}

# median KEY
median() {
    sort -n "$scratch/figure.$1" | awk '
        { value[NR] = $1 }
        END { print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

# spread KEY: the least and the largest.
spread() {
    sort -n "$scratch/figure.$1" | awk 'NR == 1 { least = $1 } { last = $1 } END { print least, last }'
}

# ---- curves ----

# draw FIGURE TITLE OVER: a picture of the points in $scratch/points (curves.awk), in the folder $curves; OVER names the
# horizontal axis.
draw() {
    mkdir -p "$curves"
    awk -v title="Figure $1: $2" -v over="$3" -f "$(dirname "$0")/curves.awk" "$scratch/points" > "$curves/figure-$1.svg"
}

# ---- what must hold ----

# must WHAT EXPRESSION: an awk expression of numbers.
must() {
    said=$((said + 1))
    if awk "BEGIN { exit !($2) }" < /dev/null; then
        echo "ok   $1"
    else
        echo "NOT  $1: $2"
        broken=$((broken + 1))
    fi
}

# judge: prints the last line of a study, and sets its exit status.
judge() {
    echo
    echo "$((said - broken)) of $said hold"
    [ "$broken" = 0 ]
}

# machine: prints the machine of the measurement.
machine() {
    echo "$(nproc) processors,$(sed -n 's/^model name[^:]*: */ /p' /proc/cpuinfo | head -n 1), Linux $(uname -r); medians of $runs runs"
}
