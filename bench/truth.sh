#!/bin/sh
# SPDX-License-Identifier: MIT
# truth.sh BUILD_FOLDER: what DPM says of programs whose truth is known (bench/truth), on the machine as it is and beside four loops
# that compute all the time; compared with the programs' own figures.
#
#   ring      P and t_max, within 5 % of those in the processes' own logs
#   pool      the worker with the large job is named first
#   serial    the script that make waits for is named first, with its share
#   idle      acquired for 3 s: the server that computes is named, not the process that only sleeps
#   nagle     as many messages are held back as answers were late
#   pooled    as many requests, and nearly as many that waited for the only connection, with the same longest wait
#   queries   the requests of a program that asks for each item, counted, with their share of the elapsed time
#   items     of twelve items that xargs hands out, the one that took longest is named first, with its time within 15 %
#   locks     of six jobs that wait for the lock of one file, the last one waited as long, within 5 %
#   naps      each sleep is one, and no wakeup of another process's is said to end them
#   read, epoll   as many waits for messages, nearly as long, in either call
#
# Prints a line for each, with what both say. CASES="ring pool" chooses; ROUNDS repeats (1).
set -eu
build=$1
here=$(cd "$(dirname "$0")/truth" && pwd)
scratch=$(mktemp -d)
loops=
end() {
    # shellcheck disable=SC2086 # one word for each
    [ -z "$loops" ] || kill $loops 2> /dev/null || :
    rm -rf "$scratch"
}
trap end EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch"
PATH=/usr/bin:/bin:$PATH # an earlier python3 may be a script
dpm=$build/dpm
wrong=0

# line CASE VERDICT WHAT
line() {
    printf '%-7s %-7s %-5s %s\n' "$load" "$1" "$2" "$3"
    [ "$2" = right ] || wrong=$((wrong + 1))
}

# record COMMAND...: into the trace `trace`, its output into `log`, the report into `report`.
record() {
    rm -rf trace
    "$dpm" run --kinds tcp,pipe --report none -o trace -- "$@" > log 2> err || {
        cat err >&2
        exit 1
    }
    "$dpm" report trace > report
}

# first: the findings on the first screen, in one line.
first() {
    sed -n '/^What was found$/,/^$/p' report | sed 1d | head -n 24 | tr -s ' \n' ' '
}

case_ring() {
    record "$build/bench/ring" 40 10
    own=$(python3 "$here/token_ring.py" log)
    found=$("$dpm" parallelism --json trace | jq -r '.rows[0] | "\(.P) \(.tmax_ns / 1e6)"')
    # shellcheck disable=SC2086 # numbers
    set -- $own $found
    verdict=$(awk -v a="$1" -v b="$4" -v c="$2" -v d="$5" \
        'function near(x, y) { return x - y < 0.05 * y && y - x < 0.05 * y } BEGIN { print near(b, a) && near(d, c) ? "right" : "WRONG" }')
    line ring "$verdict" "P $4 (own log $1), t_max $5 ms (own log $2)"
}

case_pool() {
    record /usr/bin/python3 "$here/pool.py"
    read -r pid share < log
    case $(first) in *"[$pid]"*) verdict=right ;; *) verdict=WRONG ;; esac
    line pool $verdict "process $pid ($share % by its own clock): $(first | cut -c 1-160)"
}

case_serial() {
    record make -s -j2 -f "$here/serial.mk"
    # shellcheck disable=SC2046 # words
    set -- $(grep '^bundle' log)
    case $(first) in *"bundle.py[$2]"*) verdict=right ;; *) verdict=WRONG ;; esac
    line serial $verdict "bundle.py[$2] ($3 s by its own clock): $(first | cut -c 1-160)"
}

case_idle() {
    port=$((20000 + $$ % 10000))
    /usr/bin/python3 "$here/server.py" $port > server &
    server=$!
    while [ ! -s server ]; do sleep 0.1; done
    /usr/bin/python3 "$here/client.py" $port &
    client=$!
    /usr/bin/python3 "$here/client.py" idle &
    idle=$!
    sleep 1
    rm -rf trace
    "$dpm" acquire --only --kinds tcp --report none -o trace --pid $server --pid $client --pid $idle --duration 3s > log 2>&1 || cat log >&2
    kill $server $client $idle
    "$dpm" report trace > report
    case $(first) in *"[$idle]"*) verdict=WRONG ;; *"[$server]"*) verdict=right ;; *) verdict=WRONG ;; esac
    line idle $verdict "server $server: $(first | cut -c 1-160)"
}

case_nagle() {
    record /usr/bin/python3 "$here/two_sends.py"
    late=$(cat log)
    held=$(first | sed -n "s/.*Nagle's algorithm held back \([0-9]*\) of.*/\1/p")
    verdict=$(awk -v held="${held:-0}" -v late="$late" 'BEGIN { d = held - late; print d * d <= 4 + 0.01 * late * late ? "right" : "WRONG" }')
    line nagle "$verdict" "${held:-none} held back; $late answers late by the client's clock"
}

# near A B PART LEAST: whether A is B, up to this part of B, or LEAST
near() {
    awk -v a="$1" -v b="$2" -v part="$3" -v least="$4" 'BEGIN { d = a > b ? a - b : b - a; print d <= part * b || d <= least ? "right" : "WRONG" }'
}

# all VERDICT...
all() {
    case "$*" in *WRONG*) echo WRONG ;; *) echo right ;; esac
}

case_pooled() {
    record /usr/bin/python3 "$here/pooled.py"
    # shellcheck disable=SC2046 # words
    set -- $(cat log) $(first | sed -n 's/.* \([0-9]*\) of \([0-9]*\) requests in [^ ]* waited for its 1 connection.* max \([0-9.]*\) ms (in.*/\1 \2 \3/p')
    longest=$("$dpm" stats --json trace | jq '[.processes[].request_last_byte_ns | values | .max] | max / 1e6')
    line pooled "$(all "$(near "${6:-0}" "$1" 0 0)" "$(near "${5:-0}" "$2" 0.2 2)" "$(near "${7:-0}" "$3" 0.25 5)" "$(near "$longest" "$4" 0.1 5)")" \
        "${5:-none} of ${6:-none} waited, at most ${7:-0} ms (own log $2 of $1, $3 ms); the longest request took $longest ms (own clock $4 ms)"
}

case_queries() {
    record /usr/bin/python3 "$here/queries.py"
    read -r count share _ < log
    # shellcheck disable=SC2046 # words
    set -- $("$dpm" stats --json trace | jq -r '[.processes[] | select(.request_last_byte_ns != null)][0].request_last_byte_ns.count')
    time=$("$dpm" why --json trace | jq '.requests.time_ns / 1e6')
    line queries "$(near "${1:-0}" "$count" 0 0)" "${1:-0} requests (own count $count), $time ms in all ($share % of the elapsed time by its own clock)"
}

case_items() {
    record sh -c "seq 12 | xargs -n1 -P3 $here/item.sh"
    # shellcheck disable=SC2046 # words
    set -- $(sort -k 2 -n log | tail -n 1)
    case $(first) in *"Items item.sh $1["*) verdict=right ;; *) verdict=WRONG ;; esac
    time=$("$dpm" report --json trace | jq '[.findings[] | select(.kind == "item") | .ns / 1e6][0] // 0')
    line items "$(all $verdict "$(near "$time" "$2" 0.15 0)")" "$time ms (item $1, $2 ms by its own clock): $(first | sed 's/.*Items/Items/' | cut -c 1-120)"
}

case_locks() {
    record /usr/bin/python3 "$here/locks.py"
    read -r waited all < log
    said=$("$dpm" report --json trace | jq '[.findings[] | select(.kind == "lock") | .ns / 1e6][0] // 0')
    line locks "$(near "$said" "$waited" 0.05 5)" "$said ms (own clock $waited of $all ms)"
}

case_naps() {
    record /usr/bin/python3 "$here/naps.py"
    read -r naps burns count < log
    said=$("$dpm" dump --json --type block trace | jq -s --argjson pid "$naps" '[.[] | select(.pid == $pid and (.system_call_name // "" | test("nanosleep")))] | length')
    woken=$("$dpm" dump --json --matched --type wakeup trace | jq -s --argjson pid "$burns" '[.[] | select(.pid == $pid)] | length')
    line naps "$(all "$(near "$said" "$count" 0 0)" "$(near "$woken" 0 0 1)")" "$said naps of $naps (own count $count); $woken wakeups by $burns, which only computes"
}

waits() {
    record /usr/bin/python3 "$here/polls.py" "$1"
    read -r reader count time < log
    # shellcheck disable=SC2046 # words
    set -- "$1" $("$dpm" stats --json trace | jq -r '[.pairs[] | .receiver_wait_ns | values][0] | "\(.count) \(.count * .mean / 1e6)"')
    line "$1" "$(all "$(near "${2:-0}" "$count" 0 0)" "$(near "${3:-0}" "$time" 0.15 5)")" "$reader waited ${2:-0} times, ${3:-0} ms (own clock $count, $time ms)"
}

case_read() {
    waits read
}

case_epoll() {
    waits epoll
}

cases=${CASES:-ring pool serial idle nagle pooled queries items locks naps read epoll}
echo "LOAD    CASE    TRUE  WHAT"
for load in quiet loaded; do
    if [ $load = loaded ]; then
        for _ in 1 2 3 4; do
            timeout 900 sh -c 'while :; do :; done' &
            loops="$loops $!"
        done
    fi
    round=0
    while [ $round -lt "${ROUNDS:-1}" ]; do
        round=$((round + 1))
        for case in $cases; do
            "case_$case"
        done
    done
done
[ $wrong = 0 ]
