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

# Where it does not matter what is recorded, few hooks are loaded, which takes less time.
few="--flags exec,termination --kinds pipe"

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
check_equal "with all descendants or without any, not both" 2 "$(usage --only --descendants 1)"
check_equal "a wrong duration is wrong usage" 2 "$(usage --duration 3y 1)"
check_equal "a process that does not exist is an error" 1 "$(usage 4194399)"
check_equal "... in one line" 1 "$(wc -l < err)"
check_equal "so are names, a cgroup and a unit without one, in one line" \
    "1 dpm: no process is named no-such-name or x, none is in the cgroup /none, none belongs to the unit no.service" \
    "$(usage --name no-such-name --name x --cgroup /none --unit no -o none.trace) $(cat err)"
check_not "... and leaves no trace behind" test -e none.trace
if long_ones; then
    check_equal "so is a name alone" "1 dpm: no process is named no-such-name" \
        "$(usage --name no-such-name -o none.trace) $(cat err)"
else
    skip "a name without a process alone" "takes long: only with ./dev test --all"
fi
if [ "$(cat /proc/2/comm)" != kthreadd ]; then
    skip "the kernel's own threads" "they are not seen from here"
elif long_ones; then
    check_equal "the kernel's own threads are not metered" "1 dpm: cannot meter process 2: it has ended or is a kernel thread" \
        "$(usage -o kernel.trace 2) $(cat err)"
else
    skip "the kernel's own threads, chosen by id" "takes long: only with ./dev test --all"
fi

# ---- how long ----

# Sends, by its own account: the wall clock before and after each.
cat > sends.py << 'END'
import socket, time
a, b = socket.socketpair()
end = time.time() + 100
with open("sends", "w", buffering=1) as file:
    while time.time() < end:
        before = time.time_ns()
        a.send(b"x")
        print(before, time.time_ns(), file=file)
        b.recv(1)
        time.sleep(0.002)
END
python3 sends.py &
sender=$!
wait_for 30 test -s sends
take_over --duration 1500ms --kinds unix --flags send -o lasts.trace -p $sender
wait $acquirer
kill $sender
"$dpm" dump --json lasts.trace > lasts.json 2> dump.err
# Of the time of day that the first line shows, and 1.5 s from then on: sends by the sender's account, and whether the trace
# has at least as many.
during() {
    python3 - << 'END'
import json, re, time
hour, minute, second = re.search(r"^dpm: metering 1 process since (\d+):(\d+):(\d+\.\d{3})$", open("err").read(), re.M).groups()
sends = [[int(word) for word in line.split()] for line in open("sends") if line.endswith("\n")]
first = sends[0][0]
local = time.localtime(first / 1e9)
midnight = first - first % 10**9 - (local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec) * 10**9
since = midnight + (int(hour) * 60 + int(minute)) * 60 * 10**9 + round(float(second) * 1000) * 10**6
if since < first:
    since += 24 * 3600 * 10**9
sent = sum(since <= before and after <= since + 1500000000 for before, after in sends)
recorded = sum(json.loads(line)["event"] == "SEND" for line in open("lasts.json"))
print(sent > 0, recorded >= sent)
END
}
during=$(during)
name="--duration counts from when metering began, as the first line shows: all sends since then are recorded"
if [ "$during" = "False True" ]; then
    skip "$name" "by its own account, the program did not run in that time"
else
    check_equal "$name" "True True" "$during"
fi

# ---- old connections ----

connections 3
take_over -o old.trace --descendants "$holder"
check_equal "it says how many processes it meters; --descendants takes the child, too" \
    "dpm: metering 2 processes since TIME: ${crowd##*/}[$holder] and its child" "$(first_line err)"
echo use >&7
wait_for 30 grep -q 'done' held
let_go
check_equal "a signal ends it in order" 0 $?
check "... with a report" grep -q '^dpm: .* records, 0 lost, in old.trace' err
"$dpm" dump --json old.trace > old.json
check_equal "every old end is recorded once, and the listener; and their creation" "6 1 7" "$(jq -r -s '
    [.[] | select(.event == "PATH" and .older).role] as $roles |
    "\($roles | map(select(. != 5)) | length) \($roles | map(select(. == 5)) | length) \(
        [.[] | select(.event == "CREATEPATH" and .older)] | length)"' old.json)"
check_equal "... with the side that connected and the one that accepted, though no port says so" "3 3" "$(jq -r -s '
    [.[] | select(.event == "PATH" and .older).role] | "\(map(select(. == 1)) | length) \(map(select(. == 2)) | length)"' old.json)"
check_equal "messages lie where the paths say they begin, and all are there" "0 3 3" "$(jq -r -s '
    (map(select(.event == "PATH")) | map({key: (.path | tostring), value: .}) | from_entries) as $paths |
    "\([.[] | select(.event == "SEND" and .offset != $paths[.path | tostring].start_out or
                  .event == "RECEIVE" and .offset != $paths[.path | tostring].start_in)] | length) \(
        [.[] | select(.event == "SEND")] | length) \([.[] | select(.event == "RECEIVE")] | length)"' old.json)"
check_equal "ends are joined" "3 3" "$("$dpm" stats --each-connection --json old.trace |
    jq -r '.paths | "\(length) \(map(select(.ends | all(length == 1))) | length)"')"
check_equal "the image of the process is known" "$(readlink -f "$crowd")" \
    "$(jq -rs '[.[] | select(.event == "IMAGE")][0].file' old.json)"
check "the process lives on" kill -0 "$holder"

# ---- by name and number, interval, other signals ----

# The signals of a terminal, of its end, and of a service manager (which let_go sends): each ends it cleanly.
sh -c 'sleep 120 & exec 3> descendants; sleep 121 & wait' &
parent=$!
wait_for 30 sh -c "[ \"\$(pgrep -c -x -P $parent sleep)\" = 2 ]"
signals=INT
! long_ones || signals="INT QUIT HUP TERM"
# reports: whether it has reported more than once since it meters
reports() {
    [ "$(grep -c '^Who sent to whom' err)" -ge 2 ]
}
for signal in $signals; do
    take_over --interval 200ms -o $signal.trace --name "${crowd##*/}" --name no-such-name -p $parent
    check "it meters the processes of that name, and those of these numbers" grep -q "^dpm: metering 3 processes since [0-9:.]*: ${crowd##*/}\[[0-9]*\], ${crowd##*/}\[[0-9]*\]$" err
    check_equal "... a name without a process is then a note" "dpm: note: no process is named no-such-name" \
        "$(grep 'note: no process' err)"
    check_equal "... so are descendants that are left out, which are named" \
        "dpm: note: 2 descendants of these processes are not metered: sleep[N], sleep[N] (--descendants takes them)" \
        "$(sed -n '/note: .* descendants/s/\[[0-9]*\]/[N]/gp' err)"
    check "an interval reports while it goes on, more than once" wait_for 30 reports
    let_go $signal
    check_equal "SIG$signal ends it in order" 0 $?
    check "... with a report" grep -q "^dpm: .* records, 0 lost, in $signal.trace" err
    count=$(grep -c '^Who sent to whom' err)
    check_equal "... the reports before it say that more follow, and all tell the overhead" "$((count - 1)) $count" \
        "$(grep -c ', so far$' err) $(grep -c '^DPM itself: ' err)"
    check "... and a trace that is whole" sh -c \
        "'$dpm' stats --json $signal.trace 2> told | jq -e .trace.complete && [ ! -s told ]"
    check "... the processes live on" kill -0 "$holder" "$child" $parent
done
pkill -P $parent
wait $parent

# ---- masters ----

# A master with two workers; one of them has started another program.
cat > master.py <<'EOF'
import os, subprocess, time
for i in range(2):
    if os.fork() == 0:
        if i == 0:
            subprocess.Popen(["sleep", "120"])
        open("worker.%d" % i, "w").close()
        time.sleep(120)
        os._exit(0)
time.sleep(120)
EOF
python3 master.py &
master=$!
sh -c '(sleep 122; :) & wait' &
parent=$!
wait_for 30 test -e worker.0 -a -e worker.1
wait_for 30 sh -c "pgrep -P \$(pgrep -P $parent) sleep"
# taken ARGUMENT...: the first line and the notes of a recording of these, without the names of processes left out; then which
# processes the trace has.
taken() {
    rm -rf taken.trace
    # shellcheck disable=SC2086 # two options
    take_over -o taken.trace $few "$@"
    let_go
    sed -n 's/^dpm: //; s/\[[0-9]*\]/[N]/g; s/metered: .*/metered/; s/ since [0-9:.]*[0-9]//; /^metering/p; /^note/p' err | sort
    "$dpm" stats --json taken.trace | jq -r '.processes[] | select(.pid != null).pid' | sort | xargs
}
# tree PROCESS: it and all its descendants.
tree() {
    echo "$1"
    for child in $(pgrep -P "$1"); do
        tree "$child"
    done
}
python=$(cat /proc/$master/comm)
check_equal "a master, whose children run the same program, is taken with its descendants" \
    "metering 4 processes: ${python}[N] and its 3 descendants
$(tree $master | sort | xargs)" "$(taken $master)"
check_equal "... with --only alone" "metering 1 process
note: 3 descendants of these processes are not metered
$master" "$(taken --only $master)"
check_equal "a shell is no master" "metering 1 process
note: 2 descendants of these processes are not metered
$parent" "$(taken -p $parent)"
check_equal "... with --descendants, these are taken" "metering 3 processes: sh[N] and its 2 descendants
$(tree $parent | sort | xargs)" "$(taken --descendants -p $parent)"
# shellcheck disable=SC2046 # one word for each process
kill $(tree $master) $(tree $parent)
wait $master $parent 2> killed

# ---- cgroup, duration ----

started=$(date +%s%N)
group=$(sed -n 's/^0:://p' /proc/$holder/cgroup)
check_equal "by cgroup" 0 "$(usage --cgroup "/sys/fs/cgroup$group" --duration 700ms --kinds pipe -o group.trace)"
check "the duration ends it" test $((($(date +%s%N) - started) / 1000000)) -ge 700
check "... with all that is in it" sh -c "
    '$dpm' dump --json --type stream group.trace | jq -e -s 'any(.[]; .pid == $holder)'"
end_connections

# ---- processes that start later, and the end of the last one ----

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
# the name comes later than a NAME record has room for
python3 -W "ignore:$(printf '%01000d' 0)" talker-$$.py early 10 &
early=$!
wait_for 30 test -e early.here
take_over -o later.trace --kinds unix --name talker-$$.py
check "a process is found by the name of its script, and named" \
    grep -q "^dpm: metering 1 process since [0-9:.]*: python3.*\[$early\]$" err
check_equal "a process that runs dpm with the name is none of that name" "dpm: no process is named no such-$$" \
    "$(timeout 60 "$dpm" acquire --name "no such-$$" --duration 100ms 2>&1)"
python3 ./talker-$$.py late 20 &
late=$!
check "a process of the chosen name that starts later is taken" \
    wait_for 30 grep -q "^dpm: metering one more process: python3.*\[$late\]" err
: > early.go
: > late.go
sleep 0.3
: > over
wait $early $late $acquirer
check_equal "the end of the last metered process ends it" 0 $?
check_equal "what both send from then on is recorded, and received" "$early:10 $late:20 0 0" \
    "$("$dpm" stats --json later.trace | jq -r '([.processes[] | select(.sent.messages > 0) | "\(.pid):\(.sent.messages)"] |
        sort_by(split(":")[1] | tonumber) | join(" ")) + " \(.trace.matching.unmatched_receives) \(.trace.matching.unmatched_sends)"')"
check_equal "... each once" 1 "$(grep -c 'metering one more' err)"

cp /bin/true "ended-$$"
mkfifo ending
python3 -c "import os, sys; os.posix_spawn('ended-$$', ['ended-$$'], {}); sys.stdin.read()" < ending &
exec 4> ending
has_ended() {
    [ "$(pgrep -x -r Z "ended-$$" | wc -l)" = 1 ]
}
wait_for 30 has_ended
check_equal "... nor is one that has ended, while its parent has not waited for it" "1 dpm: no process is named ended-$$" \
    "$("$dpm" acquire -o none --name "ended-$$" 2> err; echo "$? $(cat err)")"
exec 4>&-

# ---- the end of a recording is the same moment for all hooks ----

# Two processes pass one message back and forth: every sent message is received, except the one in flight. A game of each
# kind, all at once.
kinds="tcp pipe"
! long_ones || kinds="tcp udp unix pipe"
pingpong=$1/bench/pingpong
# shellcheck disable=SC2086 # one word for each process
set_up() {
    [ "$(pgrep -c -P "$(echo $players | tr ' ' ,)")" = "$(echo $kinds | wc -w)" ]
}
# have_played: whether each game has gone on for some time
have_played() {
    for player in $players; do
        has_computed "$(pgrep -P "$player")" 5 || return 1
    done
}
record_games() {
    rm -rf game.trace gate
    players=
    for kind in $kinds; do
        "$pingpong" $kind 100000000 60 gate > "played-$kind" &
        players="$players $!"
    done
    wait_for 60 set_up
    # shellcheck disable=SC2086
    take_over --ring 64M --kinds "$(echo $kinds | tr ' ' ,)" -o game.trace --descendants $players
    : > gate
    wait_for 30 have_played
    let_go
    for player in $players; do
        kill "$player" "$(pgrep -P "$player")"
        wait "$player" 2> stopped
    done
    "$dpm" stats --json game.trace 2> dump.err > stats.json
}
repeat record_games
"$dpm" dump --json --type send --type receive game.trace | jq -r -s '
    group_by(.kind)[] | "\(.[0].kind) \(length > 100) \(
        (map(select(.event == "SEND")) | length) - (map(select(.event == "RECEIVE")) | length) | fabs <= 1) \(
        map(select(.end_of_file)) | length)"' > games
for kind in $kinds; do
    [ $kind != unix ] || kind=unix-stream
    check_equal "$kind when the recording ends: as much is sent as is received, and that is no end of file" \
        "$kind true true 0" "$(grep "^$kind " games)"
done
rm -rf game.trace

# ---- the whole machine, two programs ----

mine=load-$$ # a name that no process of another test has
cp "$load" $mine
record_all() {
    rm -rf all.trace
    take_over -o all.trace --ring 64M --all --name no-such-name
    notes=$(grep -c note: err)
    self=$(pgrep -P $acquirer)
    ./$mine 60000 64 > out1 &
    pid=$!
    ./$mine 20000 50 > out3
    wait $pid
    let_go
    "$dpm" stats --json all.trace > all.json 2> dump.err
}
for _ in 1 2 3; do # what other tests send meanwhile is recorded, too, and may fill the ring
    repeat record_all
    [ "$(jq .trace.lost all.json)" != 0 ] || break
    echo "# $(jq .trace.lost all.json) records were lost"
done
check_equal "with --all no process is missing" 0 "$notes"
check_equal "with --all a program that began later has its own figures" "20000 1000000" \
    "$(jq -r --arg mine $mine '[.processes[] | select(.name == $mine and .sent.messages == 20000)][0].sent |
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
programs=2
! long_ones || rounds=10 programs=4
complete=0
round=0
: > ends
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    rm -rf churn.trace churned.*
    pids=
    for number in $(seq $programs); do
        "$crowd" threads 60 > "churned.$number" &
        pids="$pids $!"
    done
    for number in $(seq $programs); do
        wait_for 30 test -s "churned.$number"
    done
    # shellcheck disable=SC2086 # one word for each process
    take_over -o churn.trace --flags send,termination --ring 64M $pids
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
    # also of threads that end between their mark and the beginning
    "$dpm" dump --json --type stream,termination churn.trace 2> /dev/null | jq -r -s '
        def count(type): [.[] | select(.event == type) | .stream] | unique | length;
        if count("STREAM") == 0 then "no stream" else
            "\(count("STREAM") - count("TERMINATION")) threads without an end" end' >> ends
    [ "$(grep -c ^true verdict)" = $programs ] || cat churned.* verdict err | sed 's/^/# /' | head -n 15
done
check_equal "no thread of those that create them all the time is missed" $((programs * rounds)) $complete
check_equal "... and none has a STREAM without an end" "0 threads without an end" "$(sort -u ends)"

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
"$dpm" dump --json --type path,send,receive,end many.trace > many.json
check_equal "10,000 connections: every end is recorded, and all their messages" "20000 10000 10000" "$(jq -rs '
    "\([.[] | select(.event == "PATH" and .role != 5)] | length) \(
        [.[] | select(.event == "SEND")] | length) \([.[] | select(.event == "RECEIVE")] | length)"' many.json)"
check_equal "... without loss" 0 "$(tail -n 1 many.json | jq .lost)"
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
    sleep 0.4
    : > enough
    wait $many
    wait $acquirer
    check_equal "of 200 pairs of sockets in use each end is closed once" "400 400" "$("$dpm" dump --json \
        --type destroypath busy.trace | jq -r -s 'map(.path) | "\(length) \(unique | length)"')"
else
    skip "many sockets in use" "python3 is not installed"
fi
finish
