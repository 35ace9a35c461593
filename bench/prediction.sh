#!/bin/sh
# SPDX-License-Identifier: MIT
# prediction.sh BUILD_FOLDER: whether `dpm parallelism` predicts how long a computation takes elsewhere. Each is
# recorded with all its processes pinned to one CPU, its elapsed time on two is predicted from that, and then it runs on
# two: RUNS times (5), in direct succession. For each computation:
#
#   one         elapsed time on one CPU, ms: recorded / according to the model
#   predicted   on two CPUs, from the recording on one and the message delays measured here (dpm calibrate)
#   measured    on two CPUs
#   wrong by    difference of predicted from measured, in per cent; the median may be 10
#   no change   error of assuming that two CPUs take as long as one: a prediction is useless unless it is
#               better than that
#
# The computations: the travelling salesman (examples/tsp), a pipeline whose pipes fill up now and then
# (examples/pipeline) and a server with a timer (examples/timer-server).
set -eu
build=$1
. "$(dirname "$0")/quartiles.sh"
runs=${RUNS:-5}
[ "$(nproc)" -ge 2 ] || {
    echo "prediction: it takes two CPUs" >&2
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch"
PATH=$PATH:$build/examples/tsp:$build/examples/pipeline:$build/examples/timer-server
last=$(($(nproc) - 1))

# record NAME CPUS COMMAND...: the trace NAME of a command on these CPUs.
record() {
    trace=$1 cpus=$2
    shift 2
    rm -rf "$trace"
    "$build/dpm" run -o "$trace" --report report -- taskset -c "$cpus" "$@" > output 2>&1 || {
        cat report output >&2
        exit 1
    }
}

# delay KIND: the delay of messages on such paths here, from one processor to another, as measured by `dpm calibrate`.
"$build/dpm" calibrate > calibration
delay() {
    sed -n "s/^# local by $1 /--local-delay /p" calibration
    [ "$1" != tcp ] || sed -n 's/^local */--local-delay /p' calibration
}

# model NAME CORES [OPTION...]: for a trace, ms: elapsed time as recorded, and on this many processors of one machine.
model() {
    trace=$1 cores=$2
    shift 2
    "$build/dpm" parallelism --json --one-machine --cores "$cores" --streams threads "$@" "$trace" | jq -r '
        (.rows[] | select(.assignment == "one-machine" and .step == "sharing") | .tmax_ns / 1e6) as $is |
        "\(.trace.duration_ns / 1e6) \($is)"'
}

# median COLUMN: of the error of the time predicted for two CPUs, in per cent.
median() {
    awk -v column="$1" '{ print ($column / $5 - 1) * 100 }' rows | sort -g |
        awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# compare NAME KIND COMMAND...: KIND is that of the paths the command uses.
compare() {
    name=$1 kind=$2
    shift 2
    : > rows
    i=0
    while [ $i -lt "$runs" ]; do
        record one.trace "$last" "$@"
        record two.trace "$((last - 1)),$last" "$@"
        # shellcheck disable=SC2046 # options are words
        echo "$(model one.trace 1) $(model one.trace 2 $(delay "$kind")) $(model two.trace 2)" >> rows
        i=$((i + 1))
    done
    echo "$name, $runs runs: median (quartiles)"
    printf '  %-24s %s' 'one CPU, recorded, ms' "$(awk '{ print $1 }' rows | quartiles)"
    printf '\n  %-24s %s' 'one CPU, model, ms' "$(awk '{ print $2 }' rows | quartiles)"
    printf '\n  %-24s %s' 'two, predicted, ms' "$(awk '{ print $4 }' rows | quartiles)"
    printf '\n  %-24s %s' 'two, measured, ms' "$(awk '{ print $5 }' rows | quartiles)"
    printf '\n  %-24s %s' 'wrong by, %' "$(awk '{ print ($4 / $5 - 1) * 100 }' rows | quartiles)"
    printf '\n  %-24s %s\n' 'no change: wrong by, %' "$(awk '{ print ($1 / $5 - 1) * 100 }' rows | quartiles)"
    awk -v name="$name" -v wrong="$(median 4)" -v no_change="$(median 1)" '
        function size(of) { return of < 0 ? -of : of }
        BEGIN {
            if (size(wrong) > 10) { print name ": more than 10 % wrong"; failed = 1 }
            if (size(wrong) >= size(no_change)) { print name ": no better than to predict no change"; failed = 1 }
            exit failed
        }' || failed=1
}

failed=0
compare 'travelling salesman, 16 cities, 4 servers' tcp tsp --cities 16 --servers 4
compare 'pipeline: generator | gzip | consumer' pipe sh -c 'generator 16384 | gzip -1 | consumer 64 5'
compare 'server with a timer' unix timer-server
exit $failed
