#!/bin/sh
# SPDX-License-Identifier: MIT
# top_meter_test.sh BUILD_FOLDER: `dpm top` and `dpm live` of running processes, and `acquire --interval --json`: what they
# show, and that nothing stays attached when they end, by whatever means.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
. "$tests/terminal_pane.sh"
need_meter
need_programs tmux jq bpftool curl
cd "$scratch" || exit 1
mkfifo lines

name=l$$ # other tests run programs called load
cp "$1/tests/programs/load" $name
sh -c 'while :; do "$0" 1000000000 64; done' ./$name > /dev/null 2>&1 & # each ends after a minute
load=$!
service='' recorder='' long='' hung=''
trap 'kill $load $hung $service $recorder $long 2> /dev/null; pane_end; rm -rf "$scratch"' EXIT

pane 80 24 "$dpm" top --name $name
check "processes that run are shown" shows "^$name\[[0-9]*\] "
check "... what they do, and what DPM costs" shows '^DPM itself: [0-9.]*% of a CPU'
programs_of "$pane_process" > programs
types q
check "q ends it" wait_for 30 is_dead
check "... and nothing stays in the kernel" wait_for 30 are_freed programs
pane_end

pane 80 24 "$dpm" top --name $name
check "again" shows "^$name\[[0-9]*\] "
programs_of "$pane_process" > programs
kill -9 "$pane_server"
check "a terminal that is killed ends it" wait_for 30 has_gone "$pane_process"
check "... and nothing stays in the kernel" wait_for 30 are_freed programs

pane 80 24 "$dpm" top --name $name
check "and again" shows "^$name\[[0-9]*\] "
programs_of "$pane_process" > programs
kill -9 "$pane_process"
check "kill -9 of itself: nothing stays in the kernel, either" wait_for 30 are_freed programs
pane_end

"$dpm" top -n 2 --interval 300ms --name $name > text 2> err
status=$?
check_equal "without a terminal" 0 "$status$([ $status = 0 ] || cat err)"
check "... it prints what they do" grep -q "^$name\[" text

# ---- a wait while nothing makes a record ----

cat > hung.py << 'END'
import os, socket, time
while not os.path.exists("go"):
    time.sleep(0.01)
asks, hangs = socket.socketpair()
hangs.send(b"x") # both ends are known
asks.recv(1)
asks.recv(1)
END
/usr/bin/python3 hung.py &
hung=$!
# waits_of FILE: of each picture, whether the process waits for a message
waits_of() {
    awk -v row="[$hung]" '!/^dpm top/ && index($0, row) { print (/ message/ ? "message" : "other") }' "$1"
}
has_waited() {
    [ "$(waits_of hung.top | grep -c message)" -ge 6 ]
}
"$dpm" top --interval 300ms -p $hung > hung.top 2> hung.err &
top=$!
has_row() {
    [ -n "$(waits_of hung.top)" ]
}
wait_for 60 has_row
: > go
check "a wait for a message is in many pictures" wait_for 60 has_waited
kill $top
wait $top
kill $hung
wait $hung 2> wait.err
check_equal "... and in all, once it has begun, although nothing makes a record" "other message" \
    "$(waits_of hung.top | uniq | xargs)"

# ---- lines of JSON ----

rm go
/usr/bin/python3 hung.py &
hung=$!
# waits_in_lines: of each line, whether the process waits for a message
waits_in_lines() {
    jq -r --arg row "[$hung]" 'select(.time.last | not) | .interval.processes[] | select(.name | endswith($row)) |
        if .waits_for.kind == "in_flight" then "message" else "other" end' hung.json 2> jq.err
}
has_waited_in_lines() {
    [ "$(waits_in_lines | grep -c message)" -ge 6 ]
}
"$dpm" acquire -p $hung --store none --interval 300ms --json > hung.json 2> hung.err &
acquire=$!
has_row_in_lines() {
    [ -n "$(waits_in_lines)" ]
}
wait_for 60 has_row_in_lines
: > go
check "a wait for a message is in many lines" wait_for 60 has_waited_in_lines
kill -INT $acquire
wait $acquire
kill $hung
wait $hung 2> wait.err
check_equal "... and in each of them since it began" "other message" "$(waits_in_lines | uniq | xargs)"

has_lines() {
    [ "$(wc -l < json)" -ge 3 ]
}
: > json
"$dpm" acquire --descendants -p $load --store none --interval 300ms --json > json 2> err &
acquire=$!
wait_for 30 has_lines
kill -INT $acquire
wait $acquire
check_equal "acquire --interval --json" 0 $?
check "... every line is an object, and none is missing" jq -es \
    'length >= 3 and all(.time.number >= 1) and last.time.number == length + last.time.lines_dropped' json
check "... the last one says so" jq -es 'last.time.last and (map(select(.time.last)) | length) == 1' json
check "... messages of all intervals are those of the whole" jq -es \
    '([.[].interval.processes[].sent.messages] | add) == (last.processes | map(.sent.messages) | add)' json
check "... the report is on standard error" grep -q '^Processes' err

# a reader that never reads: the recording does not wait for it (what is dropped: tests/unit/json_lines_test.c)
# shellcheck disable=SC2217 # it only holds the pipe open
sleep 1000 < lines &
reader=$!
"$dpm" acquire --descendants -p $load --store none --duration 1s --interval 10ms --json > lines 2> err
check_equal "a reader that reads nothing: the recording ends in time" 0 $?
kill $reader
wait $reader 2> wait.err # or what it has not read stays in the pipe

"$dpm" run --interval 1s --json true 2> err
check_equal "run --json needs a file for them" 2 $?
"$dpm" run --interval 100ms --json --report run.json --store none -- sh -c 'echo out; sleep 0.5' > out 2> err
check "... which gets them" jq -es 'last.time.last' run.json
check_equal "... standard output is the command's" out "$(cat out)"

# ---- what does not run yet ----

printf '#!/bin/sh\nuntil [ -e told ]; do sleep 0.1; done | cat\n' > later.sh
: > err
"$dpm" top --name later.sh --interval 100ms > later 2> err &
top=$!
check "dpm top of a name that nothing has waits, and says so" wait_for 60 grep -qx 'dpm: waiting: no process is named later.sh' err
sh ./later.sh &
check "... until something has it" wait_for 60 grep -q '^later.sh\[\|^sh later.sh\[\|^sh\[' later
: > told
kill $top
wait $top
check_equal "... a signal ends it in order" 0 $?

# ---- metrics ----

"$dpm" live --port 0 --name $name 2> live.err &
live=$!
check "dpm live says where it serves" wait_for 60 grep -q "^dpm: metrics of $name: http://127.0.0.1:[0-9]*/metrics\$" live.err
url=$(sed -n "s/^dpm: metrics of $name: //p" live.err)
has_metrics() {
    curl -sf "$url" > metrics && grep -q "^dpm_program_sent_messages_total{program=\"$name\",machine=\"[^\"]*\"} [1-9]" metrics
}
check "... metrics of what runs" wait_for 60 has_metrics
programs_of $live > programs
kill $live
wait $live
check_equal "a signal ends it in order" 0 $?
check "... and nothing stays in the kernel" wait_for 30 are_freed programs

# ---- metrics of a recording, whose recorder stops for a while ----

timeout 600 sh -c 'while :; do "$0" 1000000000 64; done' ./$name > /dev/null 2>&1 & # each ends after a minute
long=$!
"$dpm" acquire --descendants -p $long -o load.trace > /dev/null 2>&1 &
recorder=$!
wait_for 60 test -s load.trace/metadata
: > live.err
"$dpm" live --port 0 load.trace 2> live.err &
live=$!
wait_for 60 grep -q /metrics live.err
url=$(sed -n 's/^dpm: metrics of .*: //p' live.err)
# silence: whole seconds since records came
silence() {
    curl -sf "$url" | sed -n 's/^dpm_recording_silent_seconds{machine=".*"} \([0-9]*\).*/\1/p'
}
is_silent() {
    [ "$(silence)" -ge "$1" ]
}
has_much() {
    [ "$(stat -c %s load.trace/data)" -gt 200000 ]
}
wait_for 60 has_much
kill -STOP $recorder # what it has written can be read to its end, however slow this machine is
check "metrics of a trace that is recorded" wait_for 60 has_metrics
check "... a recorder that stops is silent" wait_for 60 is_silent 3
kill -CONT $recorder
check "... until it goes on" wait_for 60 sh -c 'curl -sf "$1" | grep -q "^dpm_recording_silent_seconds{.*} 0\."' - "$url"
kill $live
wait $live
kill $recorder $long
wait $recorder

# ---- metrics of a service, by a child without capabilities ----

port=$(free_port)
cat > config.json << END
{ "records": "$scratch/records", "kinds": "unix", "max_size": "16M", "interval": "1s", "metrics_port": $port }
END
"$dpm" agent --service --config config.json > service.out 2>&1 &
service=$!
url=http://127.0.0.1:$port/metrics
check "dpm agent --service serves metrics" wait_for 60 has_metrics
child=$(pgrep -P $service -x dpm)
check_equal "... by a child" 1 "$(echo "$child" | wc -w)"
check_equal "... that has no capability" "CapPrm: 0000000000000000 CapEff: 0000000000000000" \
    "$(grep -E '^Cap(Prm|Eff):' "/proc/$child/status" | tr '\t\n' '  ' | sed 's/ *$//; s/:  */: /g')"
kill "$child"
check "... if it ends, there is another one" wait_for 60 has_metrics
child=$(pgrep -P $service -x dpm)
kill -9 $service
check "... which ends with the service, also if that is killed" wait_for 30 has_gone "$child"
finish
