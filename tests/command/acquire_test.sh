#!/bin/sh
# SPDX-License-Identifier: MIT
# acquire_test.sh BUILD_FOLDER: `dpm acquire` of running processes: which ones it finds, what it reports about old
# connections, that it misses no thread, and how it ends.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
crowd=$scratch/crowd-$$ # a name that no other process has
cp "$1/tests/programs/crowd" "$crowd"
load=$1/tests/programs/load
cd "$scratch" || exit 1

# connections COUNT: starts two processes that hold this many connections ($holder, $child). Lines written to descriptor
# 7 make them use the connections.
connections() {
    mkfifo fifo
    rm -f held # an old file would be ready at once
    "$crowd" connections "$1" < fifo > held &
    holder=$!
    exec 7> fifo
    wait_for 60 grep -q ready held
    child=$(pgrep -P $holder)
}

end_connections() {
    exec 7>&-
    wait $holder
    rm -f fifo held
}

# ---- usage ----

usage() {
    "$dpm" acquire "$@" > out 2> err
    echo $?
}
check_equal "choosing no process is wrong usage" 2 "$(usage)"
check_equal "what is no pid is wrong usage" 2 "$(usage 12x)"
check "... and named" grep -q "'12x' is not a process id" err
check_equal "a wrong duration is wrong usage" 2 "$(usage --duration 3y 1)"
check_equal "a process that does not exist is an error" 1 "$(usage 4194399)"
check_equal "... in one line" 1 "$(wc -l < err)"
check_equal "so is a name without a process" 1 "$(usage --name no-such-name -o none.trace)"
check_equal "... in one line" 'dpm: no process is named no-such-name' "$(cat err)"
check_equal "... several, too" "1 dpm: no process is named no-such-name or x, in the cgroup /none, of the unit no.service" \
    "$(usage --name no-such-name --name x --cgroup /none --unit no -o none.trace) $(cat err)"
sleep 10 &
check_equal "beside one that there is it is a note" "0 dpm: note: no process is named no-such-name" \
    "$(usage --pid $! --name no-such-name -o some.trace --duration 10ms) $(grep note: err)"
kill $!
check_not "... and leaves no trace behind" test -e none.trace
check_equal "with --all no process is missing" "0 0" \
    "$(usage --all --name no-such-name -o everyone.trace --duration 10ms) $(grep -c note: err)"
if [ "$(cat /proc/2/comm)" = kthreadd ]; then
    check_equal "the kernel's own threads are not metered" "1 dpm: cannot meter any of the chosen processes: they have ended or are kernel threads" \
        "$(usage -o kernel.trace 2) $(cat err)"
else
    skip "the kernel's own threads" "they are not seen from here"
fi

# ---- old connections ----

connections 3
take_over -o old.trace "$holder" -p "$child"
check_equal "it says how many processes it meters" 'dpm: metering 2 processes' "$(head -n 1 err)"
echo use >&7
wait_for 30 grep -q 'done' held
let_go
check_equal "a signal ends it in order" 0 $?
check "... with a report" grep -q '^dpm: .* records, 0 lost, in old.trace' err
"$dpm" dump --json old.trace > old.json
check_equal "every old end is recorded once, and the listener" "6 1" \
    "$(jq -r -s '[.[] | select(.event == "PATH" and .older).role] | "\(map(select(. != 5)) | length) \(map(select(. == 5)) | length)"' old.json)"
check_equal "... and their creation" 7 \
    "$(jq -s '[.[] | select(.event == "CREATEPATH" and .older)] | length' old.json)"
check_equal "messages lie where the paths say they begin" 0 "$(jq -s '
    (map(select(.event == "PATH")) | map({key: (.path | tostring), value: .}) | from_entries) as $paths |
    [.[] | select(.event == "SEND" and .offset != $paths[.path | tostring].start_out or
                  .event == "RECEIVE" and .offset != $paths[.path | tostring].start_in)] | length' old.json)"
check_equal "... and all are there" "3 3" "$(jq -rs '
    "\([.[] | select(.event == "SEND")] | length) \([.[] | select(.event == "RECEIVE")] | length)"' old.json)"
check_equal "ends are joined" 3 "$("$dpm" stats --json old.trace | jq '.paths | length')"
check_equal "the image of the process is known" "$(readlink -f "$crowd")" \
    "$(jq -rs '[.[] | select(.event == "IMAGE")][0].file' old.json)"
check "the process lives on" kill -0 "$holder"

# The signals of a terminal, of its end, and of a service manager: each ends it cleanly.
signals="INT TERM"
! long_ones || signals="INT QUIT HUP TERM"
for signal in $signals; do
    take_over -o $signal.trace "$holder" "$child"
    let_go $signal
    check_equal "SIG$signal ends it in order" 0 $?
    check "... with a report" grep -q "^dpm: .* records, 0 lost, in $signal.trace" err
    check "... and a trace that is whole" sh -c \
        "'$dpm' stats --json $signal.trace 2> told | jq -e .trace.complete && [ ! -s told ]"
    check "... the processes live on" kill -0 "$holder" "$child"
done

# ---- by name, cgroup, duration, interval ----

started=$(date +%s%N)
# ---- descendants, and processes that start later ----

sh -c 'sleep 60 & exec 3> descendants; sleep 61 & wait' &
parent=$!
wait_for 30 sh -c "[ \"\$(pgrep -c -P $parent)\" = 2 ]"
check_equal "descendants that are left out are named" \
    "0 dpm: note: 2 descendants of these processes are not metered: sleep[N], sleep[N] (--descendants takes them)" \
    "$(usage --pid $parent -o descendants.trace --duration 10ms) $(grep note: err | sed 's/\[[0-9]*\]/[N]/g')"
rm -rf descendants.trace
check_equal "--descendants takes them" "0 dpm: metering 3 processes" \
    "$(usage --descendants --pid $parent -o descendants.trace --duration 10ms) $(grep metering err)"
pkill -P $parent
wait $parent

cat > "talker-$$.py" <<'EOF' # a name that no other process has
import os, socket, sys, time
ends = socket.socketpair()
open(sys.argv[1] + '.here', 'w')
while not os.path.exists(sys.argv[1] + '.go'):
    time.sleep(0.01)
for i in range(int(sys.argv[2])):
    ends[0].send(b'x' * 10)
    ends[1].recv(10)
while not os.path.exists('over'):
    time.sleep(0.01)
EOF
rm -f over
python3 talker-$$.py early 10 &
early=$!
wait_for 30 test -e early.here
take_over -o later.trace --name talker-$$.py
python3 ./talker-$$.py late 20 &
late=$!
check "a process of the chosen name that starts later is taken" \
    wait_for 30 grep -q "^dpm: metering one more process: python3.*\[$late\]" err
: > early.go
: > late.go
sleep 0.3
: > over
wait $early $late $acquirer
check_equal "... what both send from then on is recorded, and received" "$early:10 $late:20 0 0" \
    "$("$dpm" stats --json later.trace | jq -r '([.processes[] | select(.sent.messages > 0) | "\(.pid):\(.sent.messages)"] |
        sort_by(split(":")[1] | tonumber) | join(" ")) + " \(.trace.matching.unmatched_receives) \(.trace.matching.unmatched_sends)"')"
check_equal "... each once" 1 "$(grep -c 'metering one more' err)"

check_equal "by name" 0 "$(usage --name "${crowd##*/}" --duration 700ms -o name.trace)"
check "the duration ends it" test $((($(date +%s%N) - started) / 1000000)) -ge 700
check "... it meters the processes of that name" grep -q '^dpm: metering 2 processes$' err
group=$(sed -n 's/^0:://p' /proc/$holder/cgroup)
check_equal "by cgroup" 0 "$(usage --cgroup "/sys/fs/cgroup$group" --duration 300ms -o group.trace)"
check "... with all that is in it" sh -c "
    '$dpm' dump --json --type stream group.trace | jq -e -s 'any(.[]; .pid == $holder)'"
check_equal "an interval reports while it goes on" 0 \
    "$(usage --interval 200ms --duration 700ms -o often.trace "$holder")"
check "... more than once" test "$(grep -c '^Who sent to whom' err)" -ge 2
check_equal "... saying that more reports follow" "$(($(grep -c '^Who sent to whom' err) - 1))" \
    "$(grep -c ', so far$' err)"
check_equal "... and the overhead" "$(grep -c '^Who sent to whom' err)" "$(grep -c '^DPM itself: ' err)"
end_connections

# ---- the end of a recording is the same moment for all hooks ----

# Two processes pass one message back and forth: every sent message is received, except the one in flight.
kinds="tcp pipe"
! long_ones || kinds="tcp udp unix pipe"
for kind in $kinds; do
    "$1/bench/pingpong" $kind 100000000 20 > played &
    player=$!
    wait_for 60 sh -c "pgrep -P $player > other"
    sleep 0.2
    "$dpm" acquire --kinds $kind --duration 300ms -o game.trace $player "$(cat other)" > out 2> err
    kill $player "$(cat other)"
    wait $player 2> stopped
    "$dpm" dump --json --type send --type receive game.trace > game.json
    check "$kind is recorded when the recording ends" jq -e -s 'length > 100' game.json
    check_equal "... as much is sent as is received" 0 "$(jq -s '
        (map(select(.event == "SEND")) | length) - (map(select(.event == "RECEIVE")) | length) |
        fabs | if . <= 1 then 0 else . end' game.json)"
    check_equal "... and what is received is no end of file" 0 \
        "$(jq -s '[.[] | select(.end_of_file)] | length' game.json)"
    rm -rf game.trace
done

# ---- the end of the last process ends it ----

sleep 100 &
pid=$!
take_over -o last.trace $pid
kill $pid
wait $acquirer
check_equal "the end of the last metered process ends it" 0 $?
wait $pid

# ---- the whole machine, two programs ----

"$load" 400000 64 > out1 &
"$load" 300000 200 > out2 &
take_over -o all.trace --ring 64M --all
self=$(pgrep -P $acquirer)
"$load" 20000 50 > out3
wait_for 60 grep -q sends out1
wait_for 60 grep -q sends out2
let_go
"$dpm" stats --json all.trace > all.json 2> /dev/null
check_equal "with --all a program that began later has its own figures" "20000 1000000" \
    "$(jq -r '[.processes[] | select(.name == "load" and .sent.messages == 20000)][0].sent |
        "\(.messages) \(.bytes)"' all.json)"
check_equal "dpm itself is not metered" 0 \
    "$(jq "[.processes[] | select(.pid == $self)] | length" all.json)"
# kernel threads are kthreadd, which is process 2 of the first PID namespace, and its children
"$dpm" dump --json --type STREAM all.trace 2> /dev/null | jq .pid | sort -un > metered
if [ "$(cat /proc/2/comm 2> comm.err)" = kthreadd ]; then
    ps -o pid= --pid 2 --ppid 2 | tr -d ' ' | sort -n > kernels
    check "there are threads of the kernel" grep -q -x 2 kernels
    check_equal "... and they are not metered" "" "$(sort metered kernels | uniq -d | xargs)"
else
    skip "the kernel's threads are not metered" "this is not the first PID namespace: none is seen here"
fi
check "nothing is lost" jq -e '.trace.lost == 0' all.json

# ---- threads that come and go ----

# Threads created after metering began are known from the program; the bytes they send are contiguous in the path, so a
# missed thread leaves a hole. Several programs are acquired at once, because most of the time goes into loading the
# meter.
rounds=1
! long_ones || rounds=10
programs=4
complete=0
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    rm -rf churn.trace churned.*
    pids=
    for number in $(seq $programs); do
        "$crowd" threads 20 > "churned.$number" &
        pids="$pids $!"
    done
    for number in $(seq $programs); do
        wait_for 30 test -s "churned.$number"
    done
    # shellcheck disable=SC2086 # one word for each process
    take_over -o churn.trace --flags send --ring 64M $pids
    # shellcheck disable=SC2086
    kill -USR1 $pids
    wait $acquirer
    # shellcheck disable=SC2086
    wait $pids
    "$dpm" dump --json --type send churn.trace 2> /dev/null > sends
    number=0
    for pid in $pids; do
        number=$((number + 1))
        echo "$pid $(sed -n 's/.* gated //p' "churned.$number")"
    done > gated
    # For each program: at least the sends of threads that were created later, without a hole or overlap.
    jq -r -s --rawfile gated gated '
        (group_by(.pid) | map({key: "\(.[0].pid)", value: (map(.offset) | sort)}) | from_entries) as $sends |
        $gated | split("\n")[] | select(. != "") | split(" ") | ($sends[.[0]] // []) as $offsets |
        (.[1] | tonumber) as $gated | ($offsets | length) as $count |
        "\($count >= $gated and $gated > 0 and $offsets[-1] - $offsets[0] + 1 == $count and
            ($offsets | unique | length) == $count) \(.)"' sends > verdict
    complete=$((complete + $(grep -c ^true verdict)))
    [ "$(grep -c ^true verdict)" = $programs ] || cat churned.* verdict err | sed 's/^/# /' | head -n 15
done
check_equal "no thread of those that create them all the time is missed" $((programs * rounds)) $complete

# ---- ten thousand connections ----

connections 10000
take_over -o many.trace "$holder" "$child"
echo use >&7
wait_for 60 grep -q 'done' held
recorder=$(pgrep -P $acquirer)
sanitized=$(grep -c -m 1 libasan "/proc/$recorder/maps")
# Pages of the rings (maps of type 27) count as file pages, and twice; so they are added by their size.
memory=$(awk '/RssAnon|RssShmem/ { sum += $2 } END { print sum }' "/proc/$recorder/status")
rings=$(cat "/proc/$recorder/fdinfo/"* | awk '
    /^map_type:/ { ring = $2 == 27 } /^max_entries:/ && ring { sum += $2 } END { print sum / 1024 }')
let_go
"$dpm" dump --json many.trace > many.json
check_equal "10,000 connections: every end is recorded" 20000 \
    "$(jq -s '[.[] | select(.event == "PATH" and .role != 5)] | length' many.json)"
check_equal "... and all their messages" "10000 10000" "$(jq -rs '
    "\([.[] | select(.event == "SEND")] | length) \([.[] | select(.event == "RECEIVE")] | length)"' many.json)"
check "... without loss" jq -e -s '.[-1].lost == 0' many.json
if [ "$sanitized" = 0 ]; then
    check_equal "... with rings of 20 MiB" 20480 "$rings"
    check "... within 48 MiB of memory and 512 bytes for each of 20,000 ends ($memory KiB, and the rings)" \
        test $((memory + rings)) -le $((48 * 1024 + 20000 / 2))
else
    skip "... within the memory that is allowed" "a sanitizer takes its own"
fi
end_connections
# Many sockets are in use while they are listed: each is recorded again, and is nevertheless closed only once.
if command -v python3 > python3.path; then
    python3 -c '
import os, signal, socket, time
signal.alarm(60)
pairs = [socket.socketpair() for _ in range(200)]
while not os.path.exists("enough"):
    for one, other in pairs:
        one.send(bytes(10))
        other.recv(10)
for one, other in pairs:
    one.close()
    other.close()
time.sleep(2.5)' &
    many=$!
    sleep 0.5
    take_over -o busy.trace --kinds unix $many
    sleep 1
    : > enough
    wait $many
    wait $acquirer
    check_equal "of 200 pairs of sockets in use each end is closed once" "400 400" "$("$dpm" dump --json \
        --type destroypath busy.trace | jq -r -s 'map(.path) | "\(length) \(unique | length)"')"
else
    skip "many sockets in use" "python3 is not installed"
fi
finish
