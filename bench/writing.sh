#!/bin/sh
# SPDX-License-Identifier: MIT
# writing.sh BUILD_FOLDER: whether a machine with 2 CPUs can record RATE records per second (1,000,000; 0: as many as
# possible) for SECONDS (60) without loss, on the real file system of SCRATCH (the build folder).
#
#   dd             the speed of the disk itself, for as many bytes
#   not metered    the maximum rate of the program that dpm run meters, measured for 2 s
#   dpm run        THREADS (2) threads that pass messages at RATE, metered for FLAGS
#                  (send receive), with a ring of 16 MiB
#   writer alone   the trace writer, with records made in memory
#
# The figures cover the time of the messages. CPU is dpm's own, in hundredths of one CPU, without that of the metered
# program. `on disk after` is the time until everything is then on the disk. Needs root.
set -eu
# shellcheck disable=SC3028 # from the environment
seconds=${SECONDS:-60}
build=$1
rate=${RATE:-1000000}
threads=${THREADS:-2}
flags=${FLAGS:-send receive}
folder=${SCRATCH:-$build}
aim=$((rate > 0 ? rate : 1000000))
needed=$((seconds * aim * 50 / 1024 / 1024)) # MiB; a record takes 49 bytes on disk
ring_records=$((16 * 1024 * 1024 / 56)) # each has an 8-byte header
free=$(df -m --output=avail "$folder" | tail -n 1)
kind=$(stat -f -c %T "$folder")

give_up() {
    echo "writing.sh: $*" >&2
    exit 1
}

[ "$kind" != tmpfs ] || give_up "$folder: is in memory; set SCRATCH to a folder on a disk"
[ "$free" -gt $((needed + 256)) ] || give_up "$folder: $needed MiB are needed for $seconds s of" \
    "$aim records/s, $free MiB are free; set SCRATCH to another folder, or SECONDS to less"
scratch=$(mktemp -d "$folder/writing.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch"

# now: seconds.
now() {
    date +%s.%N
}

# on_disk FILE...: seconds until they are on the disk.
on_disk() {
    begun=$(now)
    sync "$@"
    echo "$begun $(now)" | awk '{ printf "%.1f", $2 - $1 }'
}

# row NAME RECORDS SECONDS CPU_SECONDS LOST: of the last one; its files are in the folder `trace`.
row() {
    bytes=$(cat trace/* | wc -c)
    printf '%-14s %s  %s s\n' "$1" "$(echo "$2 $3 $4 $5 $bytes" |
        awk '{ printf "%9.0f %9s %6.1f %5.1f %%", $1 / $2, $4, $5 / $2 / 1e6, 100 * $3 / $2 }')" \
        "$(on_disk trace/*)"
    rm -rf trace
}

disk() {
    begun=$(now)
    dd if=/dev/zero of=zeros bs=1M count="$needed" conv=fdatasync 2> dd.said || give_up "$(cat dd.said)"
    echo "$begun $(now) $needed" |
        awk '{ printf "%-24s %9s %6.1f\n", "dd", "", $3 * 1.048576 / ($2 - $1) }'
    rm zeros
}

# dpm's CPU time, from /proc/PID/stat, before and after the messages: it is the shell's parent.
# shellcheck disable=SC2016 # for that shell
metered='cat /proc/$PPID/stat > before && "$@" > said && cat /proc/$PPID/stat > after'

# cpu: seconds between the two.
cpu() {
    cat before after | awk -v tick="$(getconf CLK_TCK)" '{ sum[NR] = $14 + $15 }
        END { print (sum[2] - sum[1]) / tick }'
}

unmetered() {
    taskset -c 0-1 "$build/bench/chatter" 2 0 "$threads" |
        awk '{ printf "%-14s %9.0f\n", "not metered", $1 / $2 }'
}

real() {
    taskset -c 0-1 "$build/dpm" run --ring 16M --store all --max-size $((free * 9 / 10))M \
        --flags "$flags" -o trace --report report -- \
        sh -c "$metered" sh "$build/bench/chatter" "$seconds" "$rate" "$threads" ||
        give_up "$(cat report)"
    read -r made took < said
    read -r recorded lost << END
$(sed -n 's/^dpm: \([0-9]*\) records, \([0-9]*\) lost, in .*/\1 \2/p' report)
END
    [ $((recorded + lost)) -ge "$made" ] ||
        give_up "$made records were made, $recorded recorded and $lost lost: $(grep ^dpm: report)"
    row "dpm run" "$((made - lost))" "$took" "$(cpu)" "$lost"
}

alone() {
    taskset -c 0-1 "$build/bench/pour" trace "$seconds" "$aim" > said
    read -r poured took used waiting < said
    row "writer alone" "$poured" "$took" "$used" -
    echo "writer alone: at most $waiting records waited; a ring of 16 MiB holds $ring_records"
}

echo "recording for $seconds s on 2 CPUs and $kind, $rate records/s are asked for"
echo "               records/s      lost   MB/s     CPU  on disk after"
disk
unmetered
real
alone
