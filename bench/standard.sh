# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # those who read it set $build, and use what is set here
# standard.sh: a folder of its own for the standard trace of RECORDS records (30,000,000), in SCRATCH
# (/dev/shm if there is room), which is removed again; read by the benches that read traces.
records=${RECORDS:-30000000}
runs=${RUNS:-5}
cpu=$(($(nproc) - 1))

# room FOLDER: whether the trace has room there; a record takes 52 bytes, paths included.
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
