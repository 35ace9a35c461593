#!/bin/sh
# SPDX-License-Identifier: MIT
# start.sh BUILD_FOLDER: the cost of a recording of nothing: the time of `dpm run -- true`, from its start to the end of
# its report. Most of it is the kernel's verification of the meter. Each figure is the median of RUNS runs (11), in
# turn.
set -eu
build=$1
. "$(dirname "$0")/quartiles.sh"
runs=${RUNS:-11}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1

"$build/dpm" run -o trace -- true > said 2>&1 || {
    echo "$0: dpm does not work here: $(tail -n 1 said)" >&2
    exit 1
}

# run OPTION...: seconds of `dpm run` with these options.
run() {
    rm -rf trace
    "$build/bench/measure" measured "$build/dpm" run "$@" -o trace -- true > /dev/null 2>&1
    awk '{ print $1 }' measured
}

i=0
while [ $i -lt "$runs" ]; do
    echo "$(run) $(run --flags send,receive) $(run --flags send,receive --kinds tcp) $(run --meter ptrace)"
    i=$((i + 1))
done > runs

# row NAME COLUMN: from the file `runs`, in ms.
row() {
    printf '%-34s %s\n' "$1" "$(awk -v column="$2" '{ print 1000 * $column }' runs | quartiles)"
}
echo "a recording of nothing: ms, $runs runs: median (quartiles)"
row "as without options" 1
row "--flags send,receive" 2
row "--flags send,receive --kinds tcp" 3
row "--meter ptrace" 4
