#!/bin/sh
# SPDX-License-Identifier: MIT
# dump_test.sh BUILD_FOLDER: `dpm dump`: its lines, its selections, and its errors, on the traces of sample_trace.c.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"

hostile_name=$(printf 'q"\\\033\nz\303\266\377{}[],:'\''')

# lines TYPE: the lines of this type, without their time, with single blanks between the columns.
lines() {
    "$dpm" dump --type "$1" alpha 2> err | sed 's/^.\{26\} *//' | squeeze
}

# ---- text: time, process, stream, type, details ----

runs "a trace is listed" "$dpm" dump alpha
says "... and its losses are reported" 'dpm: alpha: 3 records were lost'
cp out all
check_equal "... every record, and END" 80 "$(wc -l < all)"
check_equal "the first line has wall-clock time, no process, no stream" \
    '2023-11-14 22:13:21.000000 - - MACHINE alpha, Linux 6.6 x86_64, 10.0.0.1 10.0.0.7 2001:db8::1' \
    "$(sed -n 1p all | squeeze)"
check_equal "records are 1 ms apart, but NETWORK, COST, WAKEUP and the last" \
    "$({ seq -f '2023-11-14 22:13:21.%03.0f000' 0 75; echo '2023-11-14 22:13:21.075000'; })" \
    "$(grep -vE ' (NETWORK|COST|WAKEUP) ' all | cut -c 1-26)"
check_equal "NETWORK" "- - NETWORK 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 round trip 150 us, 2 retransmitted, 700 B unacknowledged" \
    "$(lines network)"
check_equal "COST" "- - COST 15.0 ms of CPU time, 8 wakeups, 900 ns for each record" "$(lines cost)"
check_equal "times are of the local time zone" '2023-11-15 03:43:21.000000' \
    "$(TZ=IST-5:30 "$dpm" dump alpha 2> err | sed -n 1p | cut -c 1-26)"
check_equal "numbers of streams end in one column" "" \
    "$(grep -v '\[300\]' all | cut -c 48-54 | grep -v '^      [-0-9]$')"
check_not "no control character is printed" grep -q '[[:cntrl:]]' all
check "everything is UTF-8" iconv -f UTF-8 -t UTF-8 all

check_equal "END" '- - END 80 records, 3 lost, complete' "$(lines end)"
check_equal "STREAM" "server[100] 1 STREAM process 1, parent stream 0, user 1000, cgroup 77
worker[100/101] 2 STREAM process 1, parent stream 1, user 1000, cgroup 77
server[200] 3 STREAM process 3, parent stream 1, user 1000, cgroup 77
client[200] 3 STREAM process 3, parent stream 1, user 1000, cgroup 77
q\"\\??zö?{}[],:'[300] 4 STREAM process 4, parent stream 3, user 1000, cgroup 77
twin[400] 5 STREAM process 5, parent stream 1, user 1000, cgroup 77" "$(lines stream)"
check_equal "CREATEPROCESS: threads, processes, unknown ones" \
    'server[100] 1 CREATEPROCESS thread worker[100/101]
server[100] 1 CREATEPROCESS process server[200]
twin[400] 5 CREATEPROCESS process stream 9' "$(lines createprocess)"
check_equal "IMAGE" '- - IMAGE 1 /usr/bin/client, inode 4711' "$(lines image)"
check_equal "EXEC: known and unknown images" 'server[200] 3 EXEC /usr/bin/client
twin[400] 5 EXEC image 7' "$(lines exec)"
check_equal "STARTPROCESS, STOPPROCESS" 'worker[100/101] 2 STARTPROCESS
twin[400] 5 STOPPROCESS' "$(lines startprocess,stopprocess)"
check_equal "TERMINATION: exit status, signal, failed calls" \
    "client[200] 3 TERMINATION exit 3, the process has ended, failed receives: 2
worker[100/101] 2 TERMINATION exit 0
q\"\\??zö?{}[],:'[300] 4 TERMINATION killed by SIGKILL, the process has ended, failed sends: 1" \
    "$(lines termination)"
check_equal "BLOCK" \
    'server[100] 1 BLOCK asleep 1.50 ms in futex, task state 0x1' "$(lines block)"
check_equal "WAKEUP, after the waker's end" \
    "- - WAKEUP server[100] by the end of q\"\\??zö?{}[],:'[300]" "$(lines wakeup)"
check_equal "LOST, DISCARDED" \
    'worker[100/101] 2 LOST 3 records of the data ring: it was full
client[200] 3 DISCARDED 2 records removed by selection' "$(lines lost,discarded)"
check_equal "CONNECT, ACCEPT, RECEIVECALL, SENDCALL" \
    'client[200] 3 CONNECT 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 0 bytes, offset 0
server[100] 1 ACCEPT 2 tcp 127.0.0.1:80 > 127.0.0.1:4000 0 bytes, offset 0
worker[100/101] 2 RECEIVECALL 2 tcp 127.0.0.1:80 > 127.0.0.1:4000 0 bytes, offset 1000
client[200] 3 SENDCALL 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 50 bytes, offset 1100' \
    "$(lines connect,accept,receivecall,sendcall)"
check_equal "MESSAGEQUEUED and DESTROYPATH may have no stream" \
    '- - MESSAGEQUEUED 2 tcp 127.0.0.1:80 > 127.0.0.1:4000 100 bytes, offset 0, 0 in the queue
client[200] 3 DESTROYPATH 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 0 bytes, offset 0
- - DESTROYPATH 2 tcp 127.0.0.1:80 > 127.0.0.1:4000 0 bytes, offset 0' \
    "$(lines messagequeued,destroypath)"
check_equal "SEND on every kind of path" \
    "client[200] 3 SEND 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 100 bytes, offset 1000
client[200] 3 SEND 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 50 bytes, offset 1100
client[200] 3 SEND 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 25 bytes, offset 1150, continued
worker[100/101] 2 SEND 2 tcp 127.0.0.1:80 > 127.0.0.1:4000 10 bytes, offset 2000
twin[400] 5 SEND 2 tcp 127.0.0.1:80 > 127.0.0.1:4000 20 bytes, offset 2010
client[200] 3 SEND 3 tcp [::1]:5000 > [::1]:6000 1000 bytes, offset 3000
client[200] 3 SEND 5 tcp 10.0.0.1:7000 > 10.0.0.2:9000 300 bytes, offset 5000
client[200] 3 SEND 7 unix-stream socket#70 > /run/a.sock 7 bytes, offset 0
q\"\\??zö?{}[],:'[300] 4 SEND 9 unix-stream socket#90 > @q\"\\?[2Jö? 5 bytes, offset 0
q\"\\??zö?{}[],:'[300] 4 SEND 9 unix-stream socket#90 > @q\"\\?[2Jö? 6 bytes, offset 5
client[200] 3 SEND 11 unix-datagram socket#110 > socket#120 0 bytes, offset 0
client[200] 3 SEND 11 unix-datagram socket#110 > socket#120 9 bytes, offset 1
q\"\\??zö?{}[],:'[300] 4 SEND 12 unix-datagram socket#120 > socket#110 4 bytes, offset 0
twin[400] 5 SEND 14 unix-seqpacket socket#140 > /run/séq 12 bytes, offset 0
client[200] 3 SEND 15 unix-datagram socket#150 > unknown 3 bytes, offset 0
stream 9 9 SEND 99 unknown 77 bytes, offset 0" "$(lines send)"
check_equal "RECEIVE: the end of file, an implied call, an old path" \
    'client[200] 3 RECEIVE 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 30 bytes, offset 2000, call implied
client[200] 3 RECEIVE 1 tcp 127.0.0.1:4000 > 127.0.0.1:80 0 bytes, offset 2030, end of file
server[100] 1 RECEIVE 6 tcp 10.0.0.1:80 > 10.0.0.7:3333 60 bytes, offset 6000, older than the metering' \
    "$(lines receive | grep -e ' 1 tcp' -e older)"
check_equal "PATH, as it was known at that time" \
    '- - PATH 6 tcp 10.0.0.1:80 > 10.0.0.7:3333, accepted, inode 600, cookie 60, older than the metering
- - PATH 9 unix-stream socket#90 > @q"\?[2Jö?, connected, inode 900, cookie 90
- - PATH 9 unix-stream socket#90 > @q"\?[2Jö?, connected, inode 900, cookie 90, peer 100
- - PATH 11 unix-datagram socket#110 > socket#120, inode 1100, cookie 110, peer 120' \
    "$(lines path | grep -e 'PATH 6 ' -e 'PATH 9 ' -e 'PATH 11 ')"

# ---- JSON ----

# object NAME FILTER EXPECTED: the only record for which the filter is true is this object, of the only origin.
object() {
    check_equal "JSON: $1" "is as expected" "$(jq -S -c -r -n --argjson expected "$3" "[inputs | select($2)] as \$found |
        if \$found == [\$expected + {origin: 0}] then \"is as expected\" else \$found[] end" alpha.json)"
}

runs "--json" "$dpm" dump --json alpha
says "... still reports losses" 'dpm: alpha: 3 records were lost'
cp out alpha.json
check_equal "each line is an object" "80 object" \
    "$(jq -r -n -R '[inputs | fromjson | type] | "\(length) \(unique | join(", "))"' alpha.json)"
check_not "no control character is printed" grep -q '[[:cntrl:]]' alpha.json
check "everything is UTF-8" iconv -f UTF-8 -t UTF-8 alpha.json
check "records are in order of time" sh -c \
    'jq -e -s "[.[].time_ns] | length == 80 and . == sort and .[0] == 1000000000" alpha.json'
check_equal "the time has the offset of the local time zone" \
    '"2023-11-15T03:43:21.000000000+05:30"' \
    "$(TZ=IST-5:30 "$dpm" dump --json --type machine alpha 2> err | jq .time)"

object MACHINE '.event == "MACHINE"' '{"time": "2023-11-14T22:13:21.000000000+00:00",
    "time_ns": 1000000000, "event": "MACHINE", "machine": "alpha", "stream": 0, "load": 0,
    "name": "alpha", "machine_id": "a0000000000000000000000000000000",
    "boot_id": "b0000000000000000000000000000000", "meter_flags": 135828406270,
    "metered": ["SEND", "SENDCALL", "RECEIVECALL", "RECEIVE", "MESSAGEQUEUED", "BLOCK", "CREATEPATH", "CONNECT", "ACCEPT", "DESTROYPATH", "CREATEPROCESS", "EXEC",
        "STARTPROCESS", "STOPPROCESS", "TERMINATION", "WAKEUP", "SCHEDULE", "SIGNAL", "CONNECTFAILED", "READ", "WRITE", "SUMMARY"], "kinds_left_out": 0, "cpus": 0, "meter": 0,
    "system": "Linux 6.6 x86_64", "addresses": "10.0.0.1 10.0.0.7 2001:db8::1"}'
object STREAM '.event == "STREAM" and .tid == 101' '{"time": "2023-11-14T22:13:21.002000000+00:00",
    "time_ns": 1002000000, "event": "STREAM", "machine": "alpha", "stream": 2, "load": 0,
    "pid": 100, "tid": 101, "name": "worker", "process": 1, "parent": 1, "start": 1001000000,
    "pid_inside": 100, "user": 1000, "cgroup": 77, "pid_namespace": 0, "image": 0}'
object "STREAM with a hostile name" '.event == "STREAM" and .pid == 300' '{
    "time": "2023-11-14T22:13:21.010000000+00:00", "time_ns": 1010000000, "event": "STREAM",
    "machine": "alpha", "stream": 4, "load": 0, "pid": 300, "tid": 300,
    "name": "q\"\\??zö?{}[],:'\''", "process": 4, "parent": 3, "start": 1009000000,
    "pid_inside": 300, "user": 1000, "cgroup": 77, "pid_namespace": 0, "image": 0}'
object "PATH of TCP" '.event == "PATH" and .path == 6' '{
    "time": "2023-11-14T22:13:21.041000000+00:00", "time_ns": 1041000000, "event": "PATH",
    "machine": "alpha", "stream": 0, "load": 0, "path": 6, "kind": "tcp", "family": 2, "role": 2,
    "name_end": 0, "cookie": 60, "peer": 0, "inode": 600, "network": 4026531840,
    "local_port": 80, "remote_port": 3333, "local": "10.0.0.1:80", "remote": "10.0.0.7:3333",
    "start_out": 7000, "start_in": 6000, "unix_name": "", "older": true}'
object "PATH of a UNIX socket" '.event == "PATH" and .path == 10' '{
    "time": "2023-11-14T22:13:21.049000000+00:00", "time_ns": 1049000000, "event": "PATH",
    "machine": "alpha", "stream": 0, "load": 0, "path": 10, "kind": "unix-stream", "family": 1,
    "role": 2, "name_end": 1, "cookie": 100, "peer": 90, "inode": 1000, "network": 4026531840,
    "local_port": 0, "remote_port": 0, "local": "@q\"\\?[2Jö?", "remote": "socket#90",
    "start_out": 0, "start_in": 0, "unix_name": "@q\"\\?[2Jö?"}'
object IMAGE '.event == "IMAGE"' '{"time": "2023-11-14T22:13:21.007000000+00:00",
    "time_ns": 1007000000, "event": "IMAGE", "machine": "alpha", "stream": 0, "load": 0,
    "image": 1, "file": "/usr/bin/client", "device": 8, "inode": 4711, "load_address": 4194304}'
object "CREATEPROCESS of a thread" '.event == "CREATEPROCESS" and .child == 2' '{
    "time": "2023-11-14T22:13:21.003000000+00:00", "time_ns": 1003000000,
    "event": "CREATEPROCESS", "machine": "alpha", "pid": 100, "tid": 100, "name": "server",
    "stream": 1, "sequence": 0, "cpu_ns": 1000, "load": 2,
    "child": 2, "child_pid": 100, "child_tid": 101, "thread": true}'
object "CREATEPROCESS of an unknown process" '.event == "CREATEPROCESS" and .child == 9' '{
    "time": "2023-11-14T22:13:21.012000000+00:00", "time_ns": 1012000000,
    "event": "CREATEPROCESS", "machine": "alpha", "pid": 400, "tid": 400, "name": "twin",
    "stream": 5, "sequence": 0, "cpu_ns": 1000, "load": 2, "child": 9, "thread": false}'
object "EXEC of a known image" '.event == "EXEC" and .pid == 200' '{
    "time": "2023-11-14T22:13:21.008000000+00:00", "time_ns": 1008000000, "event": "EXEC",
    "machine": "alpha", "pid": 200, "tid": 200, "name": "server", "stream": 3, "sequence": 0,
    "cpu_ns": 1000, "load": 2, "image": "/usr/bin/client", "left": false}'
check_equal "JSON: EXEC of an unknown image gives its number" 7 \
    "$(jq 'select(.event == "EXEC" and .pid == 400) | .image' alpha.json)"
object STARTPROCESS '.event == "STARTPROCESS"' '{"time": "2023-11-14T22:13:21.004000000+00:00",
    "time_ns": 1004000000, "event": "STARTPROCESS", "machine": "alpha", "pid": 100, "tid": 101,
    "name": "worker", "stream": 2, "sequence": 0, "cpu_ns": 1000, "load": 2}'
object TERMINATION '.event == "TERMINATION" and .pid == 300' '{
    "time": "2023-11-14T22:13:21.074000000+00:00", "time_ns": 1074000000, "event": "TERMINATION",
    "machine": "alpha", "pid": 300, "tid": 300, "name": "q\"\\??zö?{}[],:'\''", "stream": 4,
    "sequence": 7, "cpu_ns": 8000, "load": 2, "status": 9, "last": true, "failed_sends": 1,
    "failed_receives": 0}'
object BLOCK '.event == "BLOCK"' '{"time": "2023-11-14T22:13:21.014000000+00:00",
    "time_ns": 1014000000, "event": "BLOCK", "machine": "alpha", "pid": 100, "tid": 100,
    "name": "server", "stream": 1, "sequence": 2, "cpu_ns": 3000, "load": 2, "system_call": 202, "system_call_name": "futex",
    "state": 1, "object": 0, "duration_ns": 1500000, "no_cpu_ns": 0}'
object LOST '.event == "LOST"' '{"time": "2023-11-14T22:13:21.068000000+00:00",
    "time_ns": 1068000000, "event": "LOST", "machine": "alpha", "pid": 100, "tid": 101,
    "name": "worker", "stream": 2, "sequence": 7, "cpu_ns": 7000, "load": 0, "count": 3,
    "ring": 1, "reason": 1}'
object SEND '.event == "SEND" and .bytes == 100' '{
    "time": "2023-11-14T22:13:21.022000000+00:00", "time_ns": 1022000000, "event": "SEND",
    "machine": "alpha", "pid": 200, "tid": 200, "name": "client", "stream": 3, "sequence": 3,
    "cpu_ns": 4000, "load": 2, "path": 1, "offset": 1000, "bytes": 100, "span_ns": 500,
    "kind": "tcp", "inode": 100, "local": "127.0.0.1:4000", "remote": "127.0.0.1:80",
    "library": true}'
object "SEND of an unknown stream on an unknown path" '.bytes == 77' '{
    "time": "2023-11-14T22:13:21.067000000+00:00", "time_ns": 1067000000, "event": "SEND",
    "machine": "alpha", "stream": 9, "sequence": 0, "cpu_ns": 1000, "load": 2, "path": 99,
    "offset": 0, "bytes": 77, "span_ns": 500}'
object MESSAGEQUEUED '.event == "MESSAGEQUEUED"' '{"time": "2023-11-14T22:13:21.023000000+00:00",
    "time_ns": 1023000000, "event": "MESSAGEQUEUED", "machine": "alpha", "stream": 0, "load": 0,
    "path": 2, "offset": 0, "bytes": 100, "queue": 0, "kind": "tcp", "inode": 200,
    "local": "127.0.0.1:80", "remote": "127.0.0.1:4000"}'
object END '.event == "END"' '{"time": "2023-11-14T22:13:21.075000000+00:00",
    "time_ns": 1075000000, "event": "END", "machine": "alpha", "stream": 0, "load": 0,
    "records": 80, "lost": 3, "reason": 1}'
check_equal "JSON: flags are there only if set" '"SEND" 25 true null
"RECEIVE" 75 null true
"RECEIVE" 30 null true' "$(jq -r 'select(.continued or .call_implied) |
    "\(.event | @json) \(.bytes) \(.continued) \(.call_implied)"' alpha.json)"
check_equal "JSON: the gaps in the sequences are what was lost and removed" '[2,7,3] [3,19,2]' \
    "$(jq -r 'select(.event == "LOST" or .event == "DISCARDED") |
        "[\(.stream),\(.sequence),\(.count)]"' alpha.json | xargs)"

# ---- choosing ----

# chooses PREDICATE OPTION...: these options choose the records for which jq's predicate is true, some but not all, in
# text as in JSON.
chooses() {
    predicate=$1
    shift
    case $* in
    *[!\ -~]*) tap_name="chooses: $(printf '%s' "$*" | tr -c ' -~' '?')" ;;
    *) tap_name="chooses: $*" ;;
    esac
    jq -c "select($predicate)" alpha.json > wanted
    "$dpm" dump "$@" --json alpha > out 2> err
    found=$?
    "$dpm" dump "$@" alpha > text 2> err
    # shellcheck disable=SC2046 # LINES wanted LINES text
    set -- $(wc -l wanted text)
    { IFS= read -r said && ! read -r _; } < err || said=
    if [ $found = 0 ] && cmp -s wanted out && [ "$1" -gt 0 ] && [ "$1" -lt 80 ] && [ "$3" = "$1" ] &&
        [ "$said" = 'dpm: alpha: 3 records were lost' ]; then
        pass "$tap_name"
    else
        fail "$tap_name" "$(wc -l < wanted) records wanted, $(wc -l < out) found; $(cat err)"
    fi
}

chooses '.name == "client" and .pid' --process client
# the name is the first thread's: all threads of process 100; and of 200 before it executes another program
chooses '(.pid == 100 or .name == "server") and .pid' --process server
chooses '.pid == 100' --process 100
chooses '.tid == 101' --process 101
chooses '.pid == 300' --process "$hostile_name"
chooses '.pid == 100 or (.name == "client" and .pid)' --process client --process=100

chooses '.event == "SEND" or .event == "RECEIVE"' --type send,Receive
chooses '.event == "SEND" or .event == "RECEIVE"' --type 'send receive'
chooses '.event == "SEND" or .event == "END"' --type send --type end
types="SEND STREAM TERMINATION"
! long_ones || types=$(jq -r .event alpha.json | sort -u)
for type in $types; do
    chooses ".event == \"$type\"" --type "$type"
done
while read -r name other; do
    chooses ".event == \"$other\"" --type $name
    ! long_ones || chooses ".event == \"$other\"" --type "$(echo $name | tr '[:upper:]' '[:lower:]')"
done << NAMES
SENDMESSAGE SEND
SOCKET CREATEPATH
DESTSOCKET DESTROYPATH
FORK CREATEPROCESS
DESTROYPROCESS TERMINATION
NAMES

chooses '.path == 99' --path 99
chooses '.path == 1 or .path == 11' --path 1 --path 11
chooses '.kind == "tcp"' --path TCP
chooses '.kind == "unix-datagram"' --path unix-datagram
chooses '.kind // "" | startswith("unix")' --path unix
chooses '.path == 1 or .path == 2 or .path == 6' --path :80
chooses '.path == 3 or .path == 4' --path '[::1]'
chooses '.path == 5' --path 10.0.0.2
chooses '.path == 9 or .path == 10' --path '@q"\'
chooses '.path == 13 or .path == 14' --path /run/séq
chooses '.path == 11 or .path == 12' --path 'socket#110'
if long_ones; then
    chooses '.name == "worker"' --process worker
    chooses '.event == "SEND"' --type SEND
    chooses '.path == 1' --path 1
    chooses '.kind == "tcp"' --path tcp
    chooses '.kind == "unix-stream"' --path unix-stream
    chooses '.kind == "unix-seqpacket"' --path unix-seqpacket
    chooses '.path == 7 or .path == 8' --path /run/a.sock
    chooses '.name == "client" and .event == "SEND"' --process client --type SEND
    chooses '.event == "RECEIVE" and .kind == "tcp"' --type receive --path tcp
else
    skip "other values of --process, --type and --path" "takes long: only with ./dev test --all"
fi
chooses '.kind == "unix-seqpacket" or .path == 5' --path unix-seqpacket --path :9000

chooses '.name == "client" and .kind == "tcp"' --process client --path tcp
chooses '.pid == 100 and (.event == "SEND" or .event == "RECEIVE") and .path == 2' \
    --process server --process worker --type send --type receive --path 2

runs "an unknown process is no error" "$dpm" dump --process nobody alpha
check_equal "... nothing is printed" "" "$(cat out)"
says "... and it is said" 'dpm: alpha: 3 records were lost' \
    'dpm: --process nobody: nothing in the trace matches'
"$dpm" dump --process nobody --process client --path 1234 --path :80 --path /no alpha > out 2> err
says "all that is nowhere is said, and only that" 'dpm: alpha: 3 records were lost' \
    'dpm: --process nobody: nothing in the trace matches' \
    'dpm: --path 1234: nothing in the trace matches' \
    'dpm: --path /no: nothing in the trace matches'
runs "a process that did nothing of the kind is no error" \
    "$dpm" dump --process worker --type exec alpha
check_equal "... and is not said to be nowhere" 'dpm: alpha: 3 records were lost' "$(cat out err)"
runs "half of a name is none" "$dpm" dump --process clien --process clients alpha
check_equal "... and chooses nothing" "" "$(cat out)"

# every COUNT OPTION...: these options choose this many records of alpha and beta, all from the machine beta unless it
# is 0.
every() {
    wanted=$1
    shift
    "$dpm" dump "$@" --json alpha beta > out 2> err
    check_equal "$* chooses $wanted" "$wanted records of beta" "$(jq -r -s '
        "\(length) records of \(map(.machine) | if . == [] then "beta" else unique | join(" ") end)"' out)"
}

# STREAM and five events of its sink; alpha's user 1000 has no name.
every 6 --user alice
every 6 --container sink.service
every 6 --container /system.slice/sink.service
every 6 --container sink.service --user alice --user nobody
every 0 --container sink.service --user nobody
every 1 --container sink.service --type send
every 0 --container sink
every 0 --container service
check_equal "--user takes the number, too, on every machine" "alpha beta" \
    "$("$dpm" dump --user 1000 --json alpha beta 2> err | jq -r .machine | sort -u | xargs)"
"$dpm" dump --user carol --container web beta > out 2> err
says "users and containers that are nowhere are said" \
    'dpm: --user carol: nothing in the trace matches' \
    'dpm: --container web: nothing in the trace matches'
check_equal "STREAM, with names" 'process 1, parent stream 0, user alice, '\
'cgroup /system.slice/sink.service' \
    "$("$dpm" dump --type stream beta | squeeze | sed 's/.* STREAM //')"
check_equal "... and in JSON" '["alice","/system.slice/sink.service"]' \
    "$("$dpm" dump --json --type stream beta | jq -c '[.user_name, .cgroup_name]')"

# ---- several traces ----

runs "two traces" "$dpm" dump alpha beta
cp out both
check_equal "are merged by wall-clock time, and machines are named" \
    '2023-11-14 22:13:21.000000 -@alpha - MACHINE
2023-11-14 22:13:21.000500 -@beta - MACHINE
2023-11-14 22:13:21.001000 server[100]@alpha 1 STREAM
2023-11-14 22:13:21.001500 -@beta - NAME
2023-11-14 22:13:21.002000 worker[100/101]@alpha 2 STREAM
2023-11-14 22:13:21.002500 -@beta - NAME' "$(head -n 6 both | squeeze | cut -d ' ' -f 1-5)"
check_equal "every record of both is there" 93 "$(wc -l < both)"
check_equal "numbers are those of each trace" '1 tcp 10.0.0.2:9000 > 10.0.0.1:7000 300 bytes' \
    "$(grep ' RECEIVE .*@*' both | grep '@beta' | squeeze | sed 's/.* RECEIVE //; s/,.*//')"
"$dpm" dump beta alpha > out 2> err
check "the order on the command line does not matter" cmp both out
says "... and each trace's losses are reported with its name" 'dpm: alpha: 3 records were lost'
"$dpm" dump --json --process 100 beta alpha > out 2> err
check_equal "a process id is looked for on every machine" '"alpha" "server"
"alpha" "worker"
"beta" "sink"' "$(jq -r '"\(.machine | @json) \(.name | @json)"' out | sort -u)"
check_equal "each record is as in its own trace" \
    "$("$dpm" dump --json alpha 2> err | cksum)" \
    "$("$dpm" dump --json alpha beta 2> err | jq -c 'select(.machine == "alpha")' | cksum)"

# ---- program counters ----

# places TRACE: where the messages of named were sent from, according to the lines.
places() {
    "$dpm" dump --type send "$@" 2> err | grep named | sed 's/.*offset 0//; s/^$/nowhere/'
}

check_equal "lines end with the procedure, the file or the address of the call" \
    '  in swallow+0x34
  in sink+0x500
  in sink+0xeef (library)
  in 0x400501
  in 0x400234
nowhere' "$(places gamma)"
check_equal "names of several traces do not mix" "$(places gamma)" "$(places alpha gamma beta)"
check_equal "JSON has them as keys" '{"pc":4194868,"procedure":"swallow","procedure_offset":52,"module":"/usr/bin/sink"}
{"pc":4195584,"procedure":null,"procedure_offset":1280,"module":"/usr/bin/sink"}
{"pc":140736929316591,"procedure":null,"procedure_offset":3823,"module":"/usr/bin/sink"}
{"pc":4195585,"procedure":null,"procedure_offset":null,"module":null}
{"pc":4194868,"procedure":null,"procedure_offset":null,"module":null}
{"pc":null,"procedure":null,"procedure_offset":null,"module":null}' \
    "$("$dpm" dump --json --type send gamma | jq -c '{pc, procedure, procedure_offset, "module": .["module"]}')"

# ---- incomplete traces ----

copy cut
cut_end cut
runs "a trace that was cut can be read" "$dpm" dump cut
check_equal "... all but END" 79 "$(wc -l < out)"
check "... and is said to be cut" grep -q '^dpm: cut was cut: its last records are missing' err
truncate -s -100 cut/control
runs "so can one with an unfinished packet" "$dpm" dump cut
# alpha flushes before alpha_others: the 14 PATHs from then on, and the records after the last message, are one packet
# of control.
check_equal "... whose records are left out" $((80 - 1 - 16 - 8)) "$(wc -l < out)"
copy short
cut_data short
runs "a trace that lost data after its end" "$dpm" dump short
says "... is said to be cut, and what is missing counts as lost" \
    "$(printf 'dpm: short was cut: its last records are missing %s\n%s' \
        '(`dpm repair` closes it for other tools)' 'dpm: short: 25 records were lost')"

# reason NUMBER: a copy of alpha whose END has this reason.
reason() {
    copy ended
    set_byte ended/control $(($(stat -c %s ended/control) - 4096 + 88 + 48)) "$1"
}

reason 2
"$dpm" dump ended > out 2> err
says "a trace that reached its largest size" \
    'dpm: ended: the recording stopped at its largest size (--max-size)' \
    'dpm: ended: 3 records were lost'
reason 3
"$dpm" dump ended > out 2> err
says "a trace that could not be written" \
    'dpm: ended: the recording stopped because the trace could not be written' \
    'dpm: ended: 3 records were lost'
reason 4
"$dpm" dump ended > out 2> err
says "a trace that was repaired" 'dpm: ended was cut and repaired: its last records are missing' \
    'dpm: ended: 3 records were lost'
reason 5
"$dpm" dump ended > out 2> err
says "a recording that failed, not for its disk" \
    'dpm: ended: the recording stopped because the meter or DPM itself failed, or dpmd ended the session' \
    'dpm: ended: 3 records were lost'

copy damaged
set_byte damaged/data $((4096 + 88 + 8)) 200
"$dpm" dump damaged > out 2> err
check_equal "a damaged trace is listed up to the damage, then an error" 1 $?
check "... in one line that says where" sh -c '
    test "$(wc -l < err)" = 1 && grep -q "^dpm: damaged/data: at byte 4184: .*damaged" err'
check_equal "... what was before it is printed" "$(head -n 20 all | cksum)" \
    "$(head -n 20 out | cksum)"
if long_ones; then
    refuses_what_is_no_trace dump
else
    skip "what is no trace, alone" "takes long: only with ./dev test --all"
fi
refuses_what_is_no_trace dump alpha

# ---- what is not known has no value ----

"$build/tests/programs/sample-trace" steered steered
check_equal "a socket that is not used yet has no addresses" "PATH 1 tcp unknown > unknown, inode 100, cookie 10, not used yet
CREATEPATH 1 tcp unknown > unknown 0 bytes, offset 0" \
    "$("$dpm" dump --type path,createpath steered | sed 's/^.* \(PATH\|CREATEPATH\) /\1 /' | squeeze)"
check_equal "JSON: ... nor there" '"unknown > unknown"' \
    "$("$dpm" dump --json --type createpath steered | jq '"\(.local) > \(.remote)"')"
check_equal "a collective function of MPI begins" "named[100] 1 WAKEUP collective call 3 of communicator 00001230" \
    "$("$dpm" dump --type wakeup steered | sed 's/^.\{26\} *//' | squeeze)"
check_equal "JSON: ... likewise" "0 2 3 4656" \
    "$("$dpm" dump --json --type wakeup steered | jq -r '"\(.woken) \(.waker) \(.call) \(.communicator)"')"
check_equal "JSON: a WAKEUP that ends a sleep says nothing of a collective function" "false false" \
    "$(jq -r 'select(.event == "WAKEUP") | "\(has("call")) \(has("communicator"))"' alpha.json)"

# ---- wrong usage ----

fails "no trace" 2 'dump: name a trace.*dpm dump --help' "$dpm" dump
fails "an unknown option" 2 "dump: unrecognized option '--colour'" "$dpm" dump --colour alpha
fails "a short option" 2 "dump: invalid option -- 'j'" "$dpm" dump -j alpha
fails "an option without its value" 2 "dump: option '--process' requires an argument" \
    "$dpm" dump alpha --process
fails "a value for an option that has none" 2 "dump: option '--json' takes no argument" \
    "$dpm" dump --json=yes alpha
fails "an empty process" 2 'dump: --process needs a value' "$dpm" dump --process '' alpha
fails "an empty path" 2 'dump: --path needs a value' "$dpm" dump --path= alpha
fails "no type" 2 'dump: --type: name a type' "$dpm" dump --type , alpha
fails "an unknown type, and all there are" 2 \
    "dump: --type 'sends': unknown type; .*SEND SENDCALL .*MACHINE END" \
    "$dpm" dump --type send,sends alpha
fails "a very long type" 2 "dump: --type 'x*': unknown type" \
    "$dpm" dump --type "$(head -c 5000 /dev/zero | tr '\0' x)" alpha
fails "--path of types without path" 2 'dump: --path and --type exclude each other' \
    "$dpm" dump --path tcp --type exec,lost,stream alpha
fails "--process of types without stream" 2 'dump: --process and --type exclude each other' \
    "$dpm" dump --process server --type machine,end alpha
fails "--process of identities that no stream makes" 2 \
    'dump: --process and --type exclude each other' \
    "$dpm" dump --process server --type path,image alpha

cannot_print "a few lines" "$dpm" dump --type send alpha
cannot_print "many lines" "$dpm" dump crowd
cannot_print "many lines of JSON" "$dpm" dump --json crowd
finish
