#!/bin/sh
# SPDX-License-Identifier: MIT
# reading.sh [--old BUILD_FOLDER] [--largest RECORDS] [--only PART] BUILD_FOLDER: the cost of reading a trace, on generated
# ones in SCRATCH (/dev/shm if it has space, so that no disk is measured), which are removed afterwards. Each figure is the
# median of RUNS runs (5), with the quartiles. Its parts:
#
#   speed     the standard trace of RECORDS records (30,000,000), pinned to one CPU:
#               yardstick      reads the files and adds up one word for each record
#               stats          dpm stats
#               stats --json   the same, with every row
#               dump           the lines for people, into /dev/null
#             and the memory of dpm stats --json, for that trace and for one of a quarter of its length
#   compare   a million records: CPU time of each command pinned to one CPU, and the time of dpm report on all; the
#             same of the other build (--old) and of babeltrace2, in turn, as ratios
#   growth    dpm report, stats and why of 1 and 10 million records: time, CPU time, memory. --largest 100000000 adds a trace
#             of a hundred million: 5.2 GB in SCRATCH, some 20 GB of temporary files in TMPDIR (/var/tmp), an hour
set -eu
old='' largest=10000000 only=''
while [ $# -gt 1 ]; do
    case $1 in
    --old) old=$2 ;;
    --largest) largest=$2 ;;
    --only) only=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# = 1 ] || {
    echo "usage: reading.sh [--old BUILD_FOLDER] [--largest RECORDS] [--only speed|compare|growth] BUILD_FOLDER" >&2
    exit 2
}
build=$(realpath "$1")
asked=${RECORDS:-}
[ -z "$old" ] || old=$(realpath "$old")
if [ "$only" = compare ]; then
    RECORDS=${RECORDS:-1000000}
elif [ "$only" = growth ]; then
    RECORDS=${RECORDS:-$largest}
fi
. "$(dirname "$0")/standard.sh"

wants() {
    [ -z "$only" ] || [ "$only" = "$1" ]
}

# smaller A B
smaller() {
    if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi
}

# ---- speed ----

# memory: of dpm stats, in MiB.
memory() {
    "$build/bench/measure" measured taskset -c "$cpu" "$build/dpm" stats --json alpha beta > stats
    awk '{ printf "%.1f", $2 / 1024 }' measured
}

speed() {
    short=$(generate $((records / 4)))
    short_memory=$(memory)
    count=$(generate "$records")
    long_memory=$(memory)
    i=0
    while [ $i -lt "$runs" ]; do
        yardstick=$(run_yardstick)
        stats=$(run "$build/dpm" stats alpha beta)
        json=$(run "$build/dpm" stats --json alpha beta 2> complaint)
        dump=$(run "$build/dpm" dump alpha beta)
        echo "$yardstick $stats $json $dump"
        i=$((i + 1))
    done > runs
    heading reading
    row yardstick 1
    row "stats" 2
    row "stats --json" 3
    row "dump" 4
    echo "anonymous memory of dpm stats: $short_memory MiB for $short records, $long_memory MiB for $count"
}

# ---- compare ----

# cpu_time COMMAND..., time_of COMMAND...: seconds; its output is thrown away.
cpu_time() {
    "$build/bench/measure" measured taskset -c "$cpu" "$@" > /dev/null 2> complaint
    awk '{ print $3 }' measured
}

time_of() {
    "$build/bench/measure" measured "$@" > /dev/null 2> complaint
    awk '{ print $1 }' measured
}

# figure MEASURE COMMAND...: of this build, and of the other one (0: there is none).
figure() {
    measure=$1
    shift
    printf '%s ' "$($measure "$build/dpm" "$@" alpha beta)"
    if [ -n "$old" ]; then $measure "$old/dpm" "$@" alpha beta; else echo 0; fi
}

# listing MEASURE [OPTION...]: of babeltrace2; 0: it is not installed.
listing() {
    measure=$1
    shift
    if command -v babeltrace2 > babeltrace; then $measure babeltrace2 "$@" alpha beta; else echo 0; fi
}

# ratio FILE COLUMN: of that column to the first one, or "-".
ratio() {
    awk -v column="$2" '$column > 0 { print $1 / $column }' "$1" > ratios
    if [ -s ratios ]; then quartiles < ratios; else echo -; fi
}

compare() {
    count=$(generate "$(smaller "$records" 1000000)")
    i=0
    rm -f compared.*
    while [ $i -lt "$runs" ]; do
        list=$(listing cpu_time) dummy=$(listing cpu_time -o dummy)
        for command in report stats path parallelism causality why; do
            echo "$(figure cpu_time $command) $list $dummy" >> compared.$command
        done
        echo "$(figure time_of report) $(listing time_of) $(listing time_of -o dummy)" >> compared.all
        i=$((i + 1))
    done
    echo "a trace of $count records, $runs runs, CPU time on one processor: median (quartiles)"
    echo "              seconds                    of the older build        of babeltrace2's listing   of its reading (-o dummy)"
    for command in report stats path parallelism causality why all; do
        name=$command
        [ $command != all ] || {
            echo "time on $(nproc) processors"
            name=report
        }
        printf '%-13s %s   %s   %s   %s\n' $name "$(awk '{ print $1 }' compared.$command | quartiles)" \
            "$(ratio compared.$command 2)" "$(ratio compared.$command 3)" "$(ratio compared.$command 4)"
    done
}

# ---- growth ----

# grow COMMAND: a row of the table.
grow() {
    i=0
    while [ $i -lt "$runs" ]; do
        "$build/bench/measure" measured "$build/dpm" "$1" alpha beta > /dev/null 2> complaint
        cat measured
        i=$((i + 1))
    done > grown
    printf '| `dpm %s` | %s | %s | %s | %s | %s |\n' "$1" "$count" \
        "$(awk '{ print $1 }' grown | quartiles | awk '{ print $1 }')" \
        "$(awk '{ print $3 }' grown | quartiles | awk '{ print $1 }')" \
        "$(awk -v count="$count" '{ print $3 / count * 1e6 }' grown | quartiles | awk '{ print $1 }')" \
        "$(awk '{ print $2 / 1024 }' grown | quartiles | awk '{ print $1 }')"
}

growth() {
    echo '| command | records | s | CPU s | CPU s a million | anonymous memory, MiB |'
    echo '|---|---|---|---|---|---|'
    most=$(smaller "$largest" "${asked:-$largest}")
    size=$(smaller "$most" 1000000)
    while [ "$size" -le "$most" ]; do
        count=$(generate "$size")
        grow report
        grow stats
        grow why
        size=$((size * 10))
    done
}

! wants speed || speed
! wants compare || compare
! wants growth || growth
