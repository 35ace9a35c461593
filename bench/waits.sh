#!/bin/sh
# SPDX-License-Identifier: MIT
# waits.sh BUILD_FOLDER: whether `dpm report` names what a program waits for, and for how long, on its first screen (25 lines). Each
# program (bench/truth/waits) waits for one thing, and measures it with its own clock, and the part that is run queue with the kernel's
# counter. On the machine as it is and beside four loops that compute all the time.
#
#   TRUE    right: the words are there, and the shares are within 5 points of its own; small: no words, but it took below 5 %
#   OWN     the wait by the program's own clock, without the time in which it could run (of the others, for which a process waits that
#           computes: that process's CPU time and run queue), in per cent of the elapsed time as DPM has it
#   DPM     ... of the same kind, in `dpm why --json`; for the process that the program blames
#   REPORT  ... of the statements on the first screen of `dpm report` that have the right words
#   AT-END  ... and of what `dpm run` or `dpm acquire` prints at its end
#   MS      the elapsed time by the program's own clock, from main() on, and by DPM, from its exec to its end
#
# CASES="timerfd poll" chooses; ROUNDS repeats (1); KEEP=FOLDER keeps the traces and reports.
set -eu
build=$1
here=$(cd "$(dirname "$0")/truth" && pwd)
scratch=$(mktemp -d)
loops=
peer=
end() {
    # shellcheck disable=SC2086 # one word for each
    [ -z "$loops$peer" ] || kill $loops $peer 2> /dev/null || :
    rm -rf "$scratch"
}
trap end EXIT
trap 'exit 1' HUP INT TERM
PATH=/usr/bin:/bin:$PATH # an earlier python3 may be a script
dpm=$build/dpm
waits=$build/bench/waits
wrong=0
left_out=0

# Name, how it is run (run_...), own figure (wait, or work), the kinds that `dpm why` has for it (@: of its requests; -: none), words (^:
# of the process to blame).
cases='
timerfd    waits   wait timer            ^slept until a timer ended \(read on timerfd
poll       waits   wait timer            ^slept until a timer ended \(poll
limit      waits   wait time_limit       ^waited until the time limit of its call \(futex
signal     waits   wait signal           ^waited for a signal \(rt_sigsuspend
sigwait    waits   wait timer            ^slept until a timer ended \(clock_nanosleep
stopped    waits   wait stopped          ^was stopped by a signal
fifo       waits   wait open             ^waited to open a file \(openat of fifo
flock      waits   wait file_lock        ^waited for a file lock held by an unmonitored process \(flock on .*/locked
fcntl      waits   wait file_lock        ^waited for a file lock held by an unmonitored process \(fcntl on .*/locked
flock-held waits   work computing,no_cpu ^(?:computed|could run, but had no CPU)
disk       waits   wait disk             ^waited for the disk \(fdatasync
mapped     waits   wait disk             ^waited for the disk \(in run_mapped
inotify    waits   wait notification     ^waited for a notification \(read on inotify
mq         waits   wait outside          ^waited for an unmonitored peer \(mq-posix /dpm-bench-waits
msg        waits   wait outside          ^waited for an unmonitored peer \(mq-sysv msqid
pipe-full  waits   wait outside          ^waited for an unmonitored peer \(fifo pipe
pipe-slow  waits   wait timer            ^slept until a timer ended \(clock_nanosleep
condition  waits   wait timer            ^slept until a timer ended \(clock_nanosleep
mutex      waits   wait timer            ^slept until a timer ended \(clock_nanosleep
barrier    waits   work computing,no_cpu ^(?:computed|could run, but had no CPU)
eventfd    waits   work computing,no_cpu ^(?:computed|could run, but had no CPU)
semaphore  waits   work computing,no_cpu ^(?:computed|could run, but had no CPU)
semop      waits   wait lock             ^waited for a lock or condition \(sem(?:timed)?op on semaphore
child      waits   work computing,no_cpu ^(?:computed|could run, but had no CPU)
udp        waits   wait outside          ^waited for an unmonitored peer \(udp 127.0.0.1:
udp-slow   waits   wait timer            ^slept until a timer ended \(clock_nanosleep
udp-lost   waits   wait no_answer        ^waited .*for an answer that did not come \(udp 127.0.0.1:
udp-limit  waits   wait no_answer        ^waited .*for an answer that did not come \(udp 127.0.0.1:
tcp        waits   wait outside          ^waited for an unmonitored peer \(tcp 127.0.0.1:
accept     waits   wait outside          ^waited for .*tcp
connect    waits   wait connect          ^waited to connect \(tcp 127.0.0.1:
full       waits   wait outside          ^waited .*tcp 127.0.0.1:
sendfile   waits   wait outside          ^waited .*tcp 127.0.0.1:
polling    polling wait timer            seems to poll: .*? \(([0-9.]+)% of the elapsed time\)
lookup     lookup  wait no_answer        waited 1.0[0-9]* s on average for an answer that did not come \(udp 127.0.0.2:53
queries    python  wait -                [Aa]sked .* one after the other: .*?\(([0-9.]+)% of the elapsed time\)
cpu-limit  limit   wait -                used up its CPU limit .* stopped for (?P<time>[0-9.]+ m?s) in (?P<of>[0-9.]+ m?s)
blocked    service wait @timer,queued    ^(?:slept until a timer ended \(clock_nanosleep|did something else while messages waited)
workers    service wait -                waited in .* until one of its 2 threads .*?median [^,]*, ([0-9.]+)% of the time of its requests
'

# start_peer CASE: and waits until it is ready
start_peer() {
    "$waits" peer "$1" > peer.log 2>&1 &
    peer=$!
    tries=0
    while [ ! -e ready ] && [ $tries -lt 200 ] && kill -0 $peer 2> /dev/null; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

# run COMMAND...: its first screen into `at-end`
run() {
    "$dpm" run -o trace -- "$@" > log 2> at-end || cat at-end >&2
}

run_waits() {
    start_peer "$1"
    run "$waits" "$1"
    kill $peer 2> /dev/null || :
    peer=
}

# A service, which is recorded for a while.
run_service() {
    "$waits" "$1" &
    peer=$!
    while [ ! -e asks ]; do sleep 0.1; done
    "$dpm" acquire --descendants --pid $peer --duration 3s -o trace > log 2> at-end || cat at-end >&2
    : > stop
    wait $peer || :
    peer=
}

run_python() {
    run /usr/bin/python3 "$here/$1.py"
    read -r _ _ time < log
    echo "0 $time 0 $time" > own
}

# With a name server that does not answer, before one that does.
run_lookup() {
    printf 'nameserver 127.0.0.2\nnameserver 127.0.0.3\noptions timeout:1 attempts:2\n' > resolv.conf
    run unshare -n -m sh -c 'ip link set lo up && mount --bind resolv.conf /etc/resolv.conf && exec /usr/bin/python3 "$1"' - "$here/lookup.py"
}

# A script that looks for a file again and again, which comes after a while.
run_polling() {
    run sh "$here/polling.sh"
}

# A program whose cgroup may use a tenth of a CPU; its own figure: for how long the kernel stopped it (cpu.stat).
run_limit() {
    group=/sys/fs/cgroup/cpu/dpm-waits-$$
    mkdir $group 2> /dev/null && echo 10000 > $group/cpu.cfs_quota_us || return 1
    run sh -c "echo \$\$ > $group/cgroup.procs && exec /usr/bin/python3 $here/work.py 250000"
    awk '/throttled_time/ { print 0, $2 / 1e6, 0, 0 }' $group/cpu.stat > own
    rmdir $group
}

# record CASE HOW: into the trace `trace`, its own figures into `own`, the first screens of `dpm run` and `dpm report` into `at-end`, `report`
record() {
    mkdir "$scratch/run"
    cd "$scratch/run"
    "run_$2" "$1" || return 1
    "$dpm" report trace > report 2> err
    "$dpm" why --json trace > why.json 2>> err
}

# share KINDS PID: the share of these kinds; of the process alone, unless PID is 0
share() {
    jq -r --arg kinds "${1#@}" --argjson pid "$2" --argjson requests "$([ "$1" = "${1#@}" ] && echo false || echo true)" \
        '[if $requests then .requests.rows[] else .rows[] end | select(.spent_on as $kind | $kinds | split(",") | index($kind)) |
            select($pid == 0 or .pid == $pid) | .share] | (add // 0) * 1000 | round / 10' why.json
}

# near A B: within 5 points
near() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b <= 5 && b - a <= 5) }'
}

# verdict OWN DPM SCREEN AT-END
verdict() {
    if [ "$3" = none ] || [ "$4" = none ]; then
        near "$1" 0 && echo small || echo WORDS
    elif near "$1" "$2" && near "$1" "$3" && near "$1" "$4"; then
        echo right
    else
        echo SHARE
    fi
}

# judge CASE FIGURE KINDS WORDS
judge() {
    read -r pid wait work elapsed < own || {
        echo "$load $1: no result" >&2
        wrong=$((wrong + 1))
        return
    }
    [ "$2" = wait ] && own=$wait || own=$work
    total=$(jq '.elapsed_ns / 1e6' why.json)
    case $3 in @*) of=$elapsed ;; *) of=$total ;; esac # (of requests, DPM may have seen a part)
    [ "$how" != service ] || of=$elapsed
    own=$(awk -v own="$own" -v of="$of" 'BEGIN { printf "%.1f", 100 * own / of }')
    case $4 in
    ^*) words="\\[$pid\\].*${4#^}" of=$pid ;;
    *) words=$4 of=0 ;;
    esac
    screen=$(/usr/bin/python3 "$here/first_screen.py" "$words" < report)
    at_end=$(/usr/bin/python3 "$here/first_screen.py" "$words" < at-end)
    [ "$3" = - ] && said=${screen%% *} || said=$(share "$3" "$of")
    result=$(verdict "$own" "$said" "${screen%% *}" "${at_end%% *}")
    case $result in right | small) ;; *) wrong=$((wrong + 1)) ;; esac
    printf '%-6s %-10s %-5s %5s %5s %6s %6s %5.0f %5.0f   %s\n' "$load" "$1" $result "$own" "$said" "${screen%% *}" "${at_end%% *}" \
        "$elapsed" "$total" "${screen#* }"
}

# try CASE HOW FIGURE KINDS WORDS
try() {
    how=$2
    if record "$1" "$2"; then
        judge "$1" "$3" "$4" "$5"
    else
        echo "$load $1: left out"
        left_out=$((left_out + 1))
    fi
    cd "$scratch"
    [ -z "${KEEP:-}" ] || {
        mkdir -p "$KEEP"
        rm -rf "$KEEP/$load-$1"
        mv run "$KEEP/$load-$1"
    }
    rm -rf run
}

all() {
    round=0
    while [ $round -lt "${ROUNDS:-1}" ]; do
        round=$((round + 1))
        echo "$cases" | sed '/^$/d' > "$scratch/cases"
        while read -r name how figure kinds words <&3; do
            case " ${CASES:-$name} " in *" $name "*) try "$name" "$how" "$figure" "$kinds" "$words" ;; esac
        done 3< "$scratch/cases"
    done
}

echo "LOAD   CASE       TRUE    OWN   DPM REPORT AT-END    MS    MS   WHAT"
for load in ${LOADS:-quiet loaded}; do
    if [ "$load" = loaded ]; then
        for _ in 1 2 3 4; do
            timeout 1200 sh -c 'while :; do :; done' &
            loops="$loops $!"
        done
    fi
    all
done
[ $left_out = 0 ] || echo "$left_out left out"
[ $wrong = 0 ]
