#!/bin/sh
# SPDX-License-Identifier: MIT
# sensors.sh BUILD_FOLDER: what sensors cost a program: its CPU time for each hit, and that of one that computes for some
# 50 us before each change, as a ratio to the same program without sensor. Rounds with and without alternate; the median
# counts. It is CPU time, so other load on the machine disturbs little.
set -eu
dpm=$1/dpm
program=$1/tests/programs/sensed-2
source=$(dirname "$0")/../tests/programs/sensed.c
rounds=${ROUNDS:-7}
changes=${CHANGES:-100000}
busy=${BUSY:-10000}
work=$(mktemp -d)
sensing=
other=
trap 'exec 3>&-; [ -z "$sensing" ] || kill "$sensing" 2> /dev/null; [ -z "$other" ] || kill "$other"; wait; rm -rf "$work"' EXIT
mkfifo "$work/orders"
"$program" < "$work/orders" > "$work/log" &
sensed=$!
exec 3> "$work/orders"

# measure ORDER: lets the program do it; prints the ns that it took
measure() {
    before=$(grep -c '^done' "$work/log") || :
    echo "$1" >&3
    while [ "$(grep -c '^done' "$work/log")" = "$before" ]; do
        sleep 0.02
    done
    sed -n 's/^quiet -*[0-9]* //p' "$work/log" | tail -n 1
}

median() {
    sort -n | awk '{ list[NR] = $1 } END { print list[int((NR + 1) / 2)] }'
}

# on ARGUMENT...: a sensor; or another tool's, "bpftrace PROGRAM". off: none any more; prints what it counted.
on() {
    rm -f "$work/said"
    if [ "$1" = bpftrace ]; then
        bpftrace -p "$sensed" -e "BEGIN { printf(\"it is on\n\") } $2" > "$work/said" 2>&1 3>&- &
    else
        "$dpm" view sense --json "$@" > "$work/seen" 2> "$work/said" 3>&- &
    fi
    sensing=$!
    until grep -q 'is on' "$work/said" 2> /dev/null; do
        kill -0 "$sensing" || { cat "$work/said" >&2; exit 1; }
        sleep 0.05
    done
}

off() {
    kill -INT "$sensing"
    wait "$sensing"
    sensing=
}

# off_now: bpftrace 0.17 misses a SIGINT at times.
off_now() {
    kill -KILL "$sensing"
    wait "$sensing" 2> "$work/killed" || :
    sensing=
}

# row TITLE ARGUMENT...: ns for each hit, and the ratio of a program that computes
row() {
    title=$1
    shift
    : > "$work/hits"
    : > "$work/ratios"
    round=0
    while [ $round -lt "$rounds" ]; do
        plain=$(measure "quiet $changes")
        plain_busy=$(measure "busy $busy")
        on "$@"
        with=$(measure "quiet $changes")
        with_busy=$(measure "busy $busy")
        off
        echo "$plain $with" | awk -v n="$changes" '{ print ($2 - $1) / n }' >> "$work/hits"
        echo "$plain_busy $with_busy" | awk '{ print $2 / $1 }' >> "$work/ratios"
        round=$((round + 1))
    done
    counts=$(sed -n 's/.*place: //p' "$work/said")
    printf '%-44s  %9.0f  %12.4f  %s\n' "$title" "$(median < "$work/hits")" "$(median < "$work/ratios")" "$counts"
}

# versus TITLE PROGRAM ARGUMENT...: the same with bpftrace, in each round: ns for each hit of both, and the ratio
versus() {
    title=$1
    script=$2
    shift 2
    : > "$work/hits"
    round=0
    while [ $round -lt "$rounds" ]; do
        plain=$(measure "quiet $changes")
        on "$@"
        own=$(measure "quiet $changes")
        off
        on bpftrace "$script"
        theirs=$(measure "quiet $changes")
        off_now
        echo "$plain $own $theirs" | awk -v n="$changes" '{ print ($2 - $1) / n, ($3 - $1) / n, ($2 - $1) / ($3 - $1) }' >> "$work/hits"
        round=$((round + 1))
    done
    printf '%-44s  %9.0f  %12.0f  %12.2f\n' "$title" "$(cut -d ' ' -f 1 "$work/hits" | median)" \
        "$(cut -d ' ' -f 2 "$work/hits" | median)" "$(cut -d ' ' -f 3 "$work/hits" | median)"
}

line=$(grep -n 'LINE return' "$source" | cut -d : -f 1)
printf '%-44s  %9s  %12s\n' "" "ns a hit" "ratio, 50 us"
row "function, 1 value" "$sensed" enqueue amount
row "function, 4 values" "$sensed" enqueue amount queue_size 'queue->load' 'current->first->begin'
row "USDT probe, 2 values" "$sensed" sensed:changed arg1 arg2
row "line, 1 value" "$sensed" "sensed.c:$line" queue_size
row "function, extended: refuses all" --when 'sensor.value1 > 1000' "$sensed" enqueue amount
row "USDT probe, extended: refuses all" --when 'sensor.value2 > 100000' "$sensed" sensed:changed arg1 arg2
row "USDT probe, only changes: none" --changes "$sensed" sensed:changed arg2
row "by file: function, 1 value" "$program" enqueue amount
row "by file: USDT probe, 2 values" "$program" sensed:changed arg1 arg2
row "by file: USDT probe, only changes: none" --changes "$program" sensed:changed arg2
sleep 100000 3>&- &
other=$!
row "by file, a process left out: function" --under $other "$program" enqueue amount
row "by file, a process left out: USDT probe" --under $other "$program" sensed:changed arg1 arg2
if command -v bpftrace > /dev/null; then
    printf '\n%-44s  %9s  %12s  %12s\n' "ns a hit" dpm bpftrace ratio
    versus "USDT probe, 2 values, all refused" "usdt:$program:sensed:changed /arg0 == 123456789/ { printf(\"%d %d\n\", arg0, arg1); }" \
        --when 'sensor.value1 = 123456789' "$sensed" sensed:changed arg1 arg2
    versus "function, 1 value, all refused" "uprobe:$program:enqueue /arg0 == 123456789/ { printf(\"%d\n\", arg0); }" \
        --when 'sensor.value1 = 123456789' "$sensed" enqueue amount
fi
