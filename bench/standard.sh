# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # those who read it set $build, and use what is set here
# standard.sh: a separate folder for the standard trace of RECORDS records (30,000,000), in SCRATCH (/dev/shm if it has
# space), which is removed afterwards; and functions that run commands on it and print results. Read by the benchmarks
# that read traces.
. "$(dirname "$0")/quartiles.sh"
records=${RECORDS:-30000000}
runs=${RUNS:-5}
cpu=$(($(nproc) - 1))

# room FOLDER: whether it has space for the trace; a record takes 52 bytes, paths included.
room() {
    [ "$(df -k --output=avail "$1" | tail -n 1)" -gt $((records * 60 / 1024)) ]
}

folder=${SCRATCH:-/dev/shm}
[ -n "${SCRATCH:-}" ] || room "$folder" || folder=${TMPDIR:-/tmp}
room "$folder" || {
    echo "$(basename "$0"): $folder: has no room for $records records of 60 bytes; set SCRATCH to a" \
        "folder that has, or RECORDS to fewer" >&2
    exit 1
}
scratch=$(mktemp -d "$folder/reading.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1

# generate RECORDS: the traces alpha and beta; prints how many records they have.
generate() {
    rm -rf alpha beta
    "$build/bench/generate" --records "$1" alpha beta > said
    awk '{ print $1 }' said
}

# run COMMAND...: prints its time in seconds; its output goes to the file $output.
output=/dev/null
run() {
    "$build/bench/measure" measured taskset -c "$cpu" "$@" > "$output"
    awk '{ print $1 }' measured
}

run_yardstick() {
    run "$build/bench/yardstick" alpha/control alpha/data beta/control beta/data
}

# heading WHAT: of the rows. $count is the number of records in the trace.
heading() {
    echo "$1 the standard trace of $count records on one CPU, $runs runs: median (quartiles)"
    echo "              million records/s          of the yardstick's speed"
}

# row NAME COLUMN: from the file `runs`, which has a line for each run: the seconds of the yardstick, and of the others.
row() {
    printf '%-13s %s   %s\n' "$1" \
        "$(awk -v column="$2" -v count="$count" '{ print count / $column / 1e6 }' runs | quartiles)" \
        "$(awk -v column="$2" '{ print $1 / $column }' runs | quartiles)"
}
