#!/bin/sh
# SPDX-License-Identifier: MIT
# stats_test.sh BUILD_FOLDER: `dpm stats`: communication statistics of the traces of sample_trace.c, in tables and in
# JSON. The expected figures are added up from the calls in that file.
tests=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"

hostile="q\"\\??zö?{}[],:'"

# table TITLE FILE: a table's lines, with single blanks between the columns, none at the ends.
table() {
    sed -n "/^$1\$/,/^\$/p" "$2" | sed '1d; /^$/d; s/^ *//; s/ *$//' | squeeze
}

# ---- tables ----

runs "a trace" "$dpm" stats alpha
says "... its losses are reported" 'dpm: alpha: 3 records were lost'
cp out alpha.text
check_equal "the heading: machine, duration, events, losses" \
    '1 trace, machine alpha, 74.0 ms, 51 events, 3 lost' "$(sed -n 1p alpha.text)"
check_equal "processes, those with most bytes first" \
    "PROCESS PID PARENT CPU TIME % SENT % BYTES SENT % RECEIVED BYTES RECEIVED FAILED
client 200 server[100] 21.0 us 40 8 53 1.46 KiB 92 3 74 B 2
$hostile 300 client[200] 8.00 us 15 3 20 15 B 0.9 4 1009 B 1
server 100 - 16.0 us 30 1 6.7 10 B 0.6 4 179 B 0
twin 400 server[100] 7.00 us 13 2 13 32 B 2.0 2 86 B 0
unknown - - 1.00 us 1.9 1 6.7 77 B 4.7 0 0 B 0" "$(table Processes alpha.text)"
check_equal "pairs, those with most bytes first" \
    "FROM TO MESSAGES % BYTES % BYTES/S SIZE P50 P99 MAX WHERE
client[200] ${hostile}[300] 3 38 1009 B 68 14.5 KiB 9 B 1000 B 1000 B local
client[200] 10.0.0.2:9000 1 12 300 B 20 4.31 KiB 300 B 300 B 300 B remote
client[200] server[100], twin[400] 2 25 175 B 12 2.51 KiB 75 B 100 B 100 B local, shared
10.0.0.7:3333 server[100] 1 100 60 B 100 810 B 60 B 60 B 60 B local
10.0.0.2:9000 client[200] 1 100 40 B 100 588 B 40 B 40 B 40 B remote
twin[400] client[200] 1 50 20 B 62 307 B 20 B 20 B 20 B local
twin[400] server[100] 1 50 12 B 38 184 B 12 B 12 B 12 B local
${hostile}[300] twin[400] 2 67 11 B 73 169 B 5 B 6 B 6 B local
server[100] client[200] 1 100 10 B 100 135 B 10 B 10 B 10 B local
client[200] server[100] 1 12 7 B 0.5 102 B 7 B 7 B 7 B local
${hostile}[300] client[200] 1 33 4 B 27 61 B 4 B 4 B 4 B local
client[200] unknown 1 12 3 B 0.2 44 B 3 B 3 B 3 B local" "$(table 'Who sent to whom' alpha.text)"
check_equal "connections, with who used its ends" \
    "KIND LOCAL REMOTE SENT BYTES SENT RECEIVED BYTES RECEIVED LATENCY P50 P99 RTT RETRANSMITS IN FLIGHT
tcp client[200] [::1]:5000 ${hostile}[300] [::1]:6000 1 1000 B 0 0 B - - - - -
tcp client[200] 10.0.0.1:7000 10.0.0.2:9000 1 300 B 1 40 B 1.00 ms 1.00 ms - - -
tcp client[200] 127.0.0.1:4000 server[100], twin[400] 127.0.0.1:80 2 175 B 2 30 B 9.00 ms 9.00 ms 150 us 2 700 B
tcp 10.0.0.7:3333 server[100] 10.0.0.1:80 1 60 B 0 0 B - - - - -
unix-datagram client[200] socket#110 ${hostile}[300] socket#120 2 9 B 1 4 B 5.00 ms 5.00 ms - - -
unix-seqpacket twin[400] socket#140 server[100] /run/séq 1 12 B 0 0 B - - - - -
unix-stream ${hostile}[300] socket#90 twin[400] @q\"\\?[2Jö? 2 11 B 0 0 B - - - - -
unix-stream client[200] socket#70 server[100] /run/a.sock 1 7 B 0 0 B - - - - -
unix-datagram client[200] socket#150 unknown 1 3 B 0 0 B - - - - -" "$(table Connections alpha.text)"
check "messages of unknown streams and paths are owned up to" sh -c '
    test "$(grep -c "^1 message of .* whose identity was lost" alpha.text)" = 2'
check_equal "connections are counted, and those that have ended" '9 connections, 1 of them ended.' \
    "$(grep 'connections, ' alpha.text)"
check_equal "the last line says what DPM itself cost" 'DPM itself: 15.0 ms of CPU time, 80 records (1,081/s). Its hooks in the kernel took <0.1% of one CPU (sampled), for all processes here.' \
    "$(tail -n 1 alpha.text)"
# parallelism and path count from the first event of a process on: another rate
cost=$(tail -n 1 alpha.text | sed 's| ([0-9,]*/s)||')
for command in causality parallelism path report; do
    check_equal "... of dpm $command, too" "$cost" \
        "$("$dpm" $command alpha 2> err | tail -n 1 | sed 's| ([0-9,]*/s)||')"
done
for command in causality parallelism path; do
    check_equal "... and its JSON" '{"bpf_ns":66600,"bpf_ns_per_record":900,"cpu_ns":15000000,"load_cpu_ns":null,"records":80,"records_per_wakeup":10}' \
        "$("$dpm" $command --json alpha 2> err | jq -Sc '.trace.own_cost | .records_per_wakeup |= floor | .bpf_ns_per_record += 0')"
done
check_equal "... but nothing of a trace that does not say it" 'null 0' \
    "$("$dpm" stats --json beta 2> err | jq .trace.own_cost) $("$dpm" stats beta 2> err | grep -c 'DPM itself')"
check_not "no control character is printed" grep -q '[[:cntrl:]]' alpha.text
check "everything is UTF-8" iconv -f UTF-8 -t UTF-8 alpha.text
LC_ALL=C "$dpm" stats alpha > out 2> err
check_not "where only ASCII can be shown, nothing else is" grep -q '[^ -~]' out

# ---- JSON ----

# same NAME EXPECTED FILTER FILE: the filter's result for the file is this, as far as keys are named.
same() {
    printf '%s' "$2" > expected.json
    check_equal "$1" "$(jq -Sc '.[]' expected.json)" \
        "$(jq -Sc --slurpfile expected expected.json "[$3 | .[]?] | to_entries[] |
            (\$expected[0][.key] // {}) as \$named | .value |
            if type == \"object\" then with_entries(select(.key | in(\$named))) else . end" "$4")"
}

runs "--json" "$dpm" stats --json alpha
says "... notes of the tables are printed" 'dpm: alpha: 3 records were lost' \
    'dpm: 1 message from unknown threads and 1 message on unknown connections: their records were lost'
cp out alpha.json
check_equal "it is one object" 1 "$(jq -s length alpha.json)"
check_equal "... of thirteen parts" '["cgroups","decisions","failures","files","inputs","late_receivers","late_senders","loads","pairs","paths","procedures","processes","trace"]' "$(jq -c keys alpha.json)"
check_not "... without control characters" grep -q '[[:cntrl:]]' alpha.json
same trace '[{"events": 51, "lost": 3, "skipped": 0, "dropped": 0, "refused": 0, "unseen_bytes": 0, "unseen_sent_bytes": 0, "duration_ns": 74000000, "complete": true, "by": "process",
    "machines": ["alpha"]}]' '[.trace]' alpha.json
same processes '[
    {"id": 1, "machine": "alpha", "pid": 100, "parent": null, "name": "server", "cpu_ns": 16000,
     "user": 1000, "user_name": null, "cgroup": 77, "cgroup_name": null, "container": null,
     "program": null, "pid_namespace": null, "pid_inside": 100,
     "sent": {"messages": 1, "bytes": 10}, "received": {"messages": 4, "bytes": 179}},
    {"id": 2, "machine": "alpha", "pid": 200, "parent": 1, "name": "client", "cpu_ns": 21000,
     "user": 1000, "user_name": null, "cgroup": 77, "cgroup_name": null, "container": null,
     "program": null, "pid_namespace": null, "pid_inside": 200,
     "sent": {"messages": 8, "bytes": 1494}, "received": {"messages": 3, "bytes": 74}},
    {"id": 3, "machine": "alpha", "pid": 300, "parent": 2, "name": "q\"\\??zö?{}[],:'\''",
     "cpu_ns": 8000,
     "user": 1000, "user_name": null, "cgroup": 77, "cgroup_name": null, "container": null,
     "program": null, "pid_namespace": null, "pid_inside": 300,
     "sent": {"messages": 3, "bytes": 15}, "received": {"messages": 4, "bytes": 1009}},
    {"id": 4, "machine": "alpha", "pid": 400, "parent": 1, "name": "twin", "cpu_ns": 7000,
     "user": 1000, "user_name": null, "cgroup": 77, "cgroup_name": null, "container": null,
     "program": null, "pid_namespace": null, "pid_inside": 400,
     "sent": {"messages": 2, "bytes": 32}, "received": {"messages": 2, "bytes": 86}},
    {"id": 5, "machine": "alpha", "pid": null, "parent": null, "name": "", "cpu_ns": 1000,
     "user": null, "user_name": null, "cgroup": null, "cgroup_name": null, "container": null,
     "program": null, "pid_namespace": null, "pid_inside": null,
     "sent": {"messages": 1, "bytes": 77}, "received": {"messages": 0, "bytes": 0}}
    ]' .processes alpha.json
same pairs '[
    {"from": 2, "to": 3, "messages": 3, "bytes": 1009, "local": true, "shared": false},
    {"from": 2, "to": "10.0.0.2:9000", "messages": 1, "bytes": 300, "local": false,
     "shared": false},
    {"from": 2, "to": [1, 4], "messages": 2, "bytes": 175, "local": true, "shared": true},
    {"from": "10.0.0.7:3333", "to": 1, "messages": 1, "bytes": 60, "local": true,
     "shared": false},
    {"from": "10.0.0.2:9000", "to": 2, "messages": 1, "bytes": 40, "local": false,
     "shared": false},
    {"from": 4, "to": 2, "messages": 1, "bytes": 20, "local": true, "shared": false},
    {"from": 4, "to": 1, "messages": 1, "bytes": 12, "local": true, "shared": false},
    {"from": 3, "to": 4, "messages": 2, "bytes": 11, "local": true, "shared": false},
    {"from": 1, "to": 2, "messages": 1, "bytes": 10, "local": true, "shared": false},
    {"from": 2, "to": 1, "messages": 1, "bytes": 7, "local": true, "shared": false},
    {"from": 3, "to": 2, "messages": 1, "bytes": 4, "local": true, "shared": false},
    {"from": 2, "to": "unknown", "messages": 1, "bytes": 3, "local": true, "shared": false}
    ]' .pairs alpha.json
same paths '[
    {"kind": "tcp", "local": "[::1]:5000", "remote": "[::1]:6000", "ends": [[2], [3]],
     "sent": {"messages": 1, "bytes": 1000}, "dropped": 0, "received": {"messages": 0, "bytes": 0}},
    {"kind": "tcp", "local": "10.0.0.1:7000", "remote": "10.0.0.2:9000", "ends": [[2], []],
     "sent": {"messages": 1, "bytes": 300}, "dropped": 0, "received": {"messages": 1, "bytes": 40}},
    {"kind": "tcp", "local": "127.0.0.1:4000", "remote": "127.0.0.1:80", "ends": [[2], [1, 4]],
     "sent": {"messages": 2, "bytes": 175}, "dropped": 0, "received": {"messages": 2, "bytes": 30}},
    {"kind": "tcp", "local": "10.0.0.7:3333", "remote": "10.0.0.1:80", "ends": [[], [1]],
     "sent": {"messages": 1, "bytes": 60}, "dropped": 0, "received": {"messages": 0, "bytes": 0}},
    {"kind": "unix-datagram", "local": "socket#110", "remote": "socket#120",
     "ends": [[2], [3]],
     "sent": {"messages": 2, "bytes": 9}, "dropped": 0, "received": {"messages": 1, "bytes": 4}},
    {"kind": "unix-seqpacket", "local": "socket#140", "remote": "/run/séq",
     "ends": [[4], [1]],
     "sent": {"messages": 1, "bytes": 12}, "dropped": 0, "received": {"messages": 0, "bytes": 0}},
    {"kind": "unix-stream", "local": "socket#90", "remote": "@q\"\\?[2Jö?",
     "ends": [[3], [4]],
     "sent": {"messages": 2, "bytes": 11}, "dropped": 0, "received": {"messages": 0, "bytes": 0}},
    {"kind": "unix-stream", "local": "socket#70", "remote": "/run/a.sock",
     "ends": [[2], [1]],
     "sent": {"messages": 1, "bytes": 7}, "dropped": 0, "received": {"messages": 0, "bytes": 0}},
    {"kind": "unix-datagram", "local": "socket#150", "remote": "unknown",
     "ends": [[2], []],
     "sent": {"messages": 1, "bytes": 3}, "dropped": 0, "received": {"messages": 0, "bytes": 0}}
    ]' .paths alpha.json
"$dpm" stats --json --all alpha > out 2> err
check "--all changes nothing of it" cmp alpha.json out
same "what rows have besides" '[
    [{"bytes": 1311, "messages": 14}, {"bytes": 340, "messages": 2}, 9, 1,
     {"cpu_ns": 15000000, "load_cpu_ns": null, "records": 80, "records_per_wakeup": 10,
      "bpf_ns_per_record": 900, "bpf_ns": 66600}],
    [{"sends": 0, "receives": 2}, true, 0.396, 0.533, 0.918],
    [{"count": 3, "min": 0, "max": 1000, "mean": 336, "p50": 9, "p90": 1000, "p99": 1000}, 0.675, 14838],
    [{"count": 2, "min": 2000000, "max": 5000000, "mean": 3500000, "p50": 2000000, "p90": 5000000,
      "p99": 5000000}, 1]]' '[
    [.trace | .local, .remote, .connections, .ended, (.own_cost | .records_per_wakeup |= floor | .bpf_ns_per_record += 0)],
    [.processes[1] | .failed, .ended, (.share | .cpu, .messages, .bytes | . * 1000 | round / 1000)],
    [.pairs[0] | (.size | .mean |= floor), (.share * 1000 | round / 1000), (.bytes_per_s | floor)],
    [.paths[2] | (.response_ns | .mean += 0), .connections]]' alpha.json

# ---- sizes and rates ----

# From dump, for each SEND's process: count, smallest, largest, total.
"$dpm" dump --json --type send alpha 2> err | jq -s -c 'map(select(.pid)) | group_by(.pid) |
    map(
        # a call is one message, however many pieces it has
        (reduce .[] as $piece ([]; if $piece.continued then .[-1] += $piece.bytes else . + [$piece.bytes] end)) as $sizes |
        [.[0].pid] + ($sizes | [length, min, max, add])) | .[]' > wanted
check "dump knows senders" grep -q '^\[200,8,' wanted
jq -c '.processes | map(select(.size and .pid)) | sort_by(.pid) | .[] |
    [.pid, .size.count, .size.min, .size.max, (.size.mean * .size.count | round)]' alpha.json > found
check_equal "sizes of what a process sends are those of its calls" "$(cat wanted)" "$(cat found)"
check_equal "... null of who sends nothing" true \
    "$(jq '.processes | map((.sent.messages == 0) == (.size == null)) | all' alpha.json)"
check_equal "sizes of a path are those of both directions" true "$(jq '.paths | map(
    .size.count == .sent.messages + .received.messages and
    (.size.mean * .size.count | round) == .sent.bytes + .received.bytes) | all' alpha.json)"
check_equal "sizes of a group are those of its processes" '[[15,0,1000]]' "$("$dpm" stats --json --by machine \
    alpha 2> err | jq -c '[.groups[].size | [.count, .min, .max]]')"
# From dump, for each process with an identity: from its creation to the end of its last thread, or of the recording, which
# begins after MACHINE and COST.
"$dpm" dump --json alpha 2> err | jq -s -c 'map(select(.event != "MACHINE" and .event != "COST"))[0].time_ns as $begin | .[-1].time_ns as $final |
    (map(select(.event == "TERMINATION" and .last) | {key: "\(.pid)", value: .time_ns}) | from_entries) as $ended |
    map(select(.event == "STREAM" and .tid == .pid)) | group_by(.pid) |
    map(.[0].pid as $pid | [$pid, ($ended["\($pid)"] // $final) - ([$begin, (map(.start) | min)] | max)]) | .[]' > wanted
check_equal "lives of processes are those of their records" "$(cat wanted)" \
    "$(jq -c '.processes | map(select(.pid)) | sort_by(.pid) | .[] | [.pid, .life_ns]' alpha.json)"
check "... and differ" grep -q '^.200,68000000' wanted
check_equal "rates are over the lives of processes (pairs: of the sender), of connections over all of it" true \
    "$(jq '.trace.duration_ns as $all_of_it | (.processes | map({key: "\(.id)", value: .life_ns}) | from_entries) as $lives |
    def life: if type == "number" then $lives["\(.)"] elif type == "string" then null else empty end;
    def holds($all; $rate; $ns): ($rate * $ns / 1e9 - $all) | fabs < 1e-6;
    [(.pairs[] | ((.from | life) // (.to | life)) as $ns |
        holds(.messages; .messages_per_s; $ns), holds(.bytes; .bytes_per_s; $ns)),
        ((.processes[], .paths[]) | (.life_ns // $all_of_it) as $ns | holds(.sent.messages; .sent_messages_per_s; $ns),
            holds(.sent.bytes; .sent_bytes_per_s; $ns), holds(.received.messages; .received_messages_per_s; $ns),
            holds(.received.bytes; .received_bytes_per_s; $ns))] | length > 30 and all' alpha.json)"
check_equal "shares by destination are of what the sender sent (figure 5.12), and of all" true "$(jq '.pairs as $pairs |
    ([.processes[].sent.messages] | add) as $messages | ([.processes[].sent.bytes] | add) as $bytes |
    def is($share; $part; $whole): ($share * $whole - $part) | fabs < 1e-6;
    [$pairs[] | .from as $from | ($pairs | map(select(.from == $from))) as $own |
        is(.messages_share; .messages; $own | map(.messages) | add), is(.share; .bytes; $own | map(.bytes) | add),
        if ($from | type) == "string" then .messages_share_of_all == null and .bytes_share_of_all == null
        else is(.messages_share_of_all; .messages; $messages) and is(.bytes_share_of_all; .bytes; $bytes) end] |
    length > 30 and all' alpha.json)"

# ---- several traces ----

runs "two traces" "$dpm" stats beta alpha
cp out both.text
check_equal "the heading names both machines" \
    '2 traces, machines beta, alpha, 74.0 ms, 56 events, 3 lost' "$(sed -n 1p both.text)"
check_equal "machines distinguish processes" \
    "PROCESS PID PARENT MACHINE USER CONTAINER CPU TIME % SENT % BYTES SENT % RECEIVED BYTES RECEIVED FAILED
sink 100 - beta alice sink.service 5.00 us 8.6 1 6.2 40 B 2.4 1 300 B 0
server 100 - alpha 1000 cgroup 77 16.0 us 28 1 6.2 10 B 0.6 4 179 B 0" \
    "$(table Processes both.text | grep -e PROCESS -e ' 100 ')"
check_equal "the connection between them has both ends" \
    'client[200]@alpha sink[100]@beta 1 12 300 B 20 4.31 KiB 300 B 300 B 300 B remote
sink[100]@beta client[200]@alpha 1 100 40 B 100 4.34 KiB 40 B 40 B 40 B remote' \
    "$(table 'Who sent to whom' both.text | grep sink)"
"$dpm" stats --json alpha beta > both.json 2> err
check_equal "as in JSON" '{"kind":"tcp","local":"10.0.0.1:7000","remote":"10.0.0.2:9000",'\
'"machines":["alpha","beta"],"sent":[1,300],"received":[1,40]}' "$(jq -c '
    (.processes | map({key: (.id | tostring), value: .machine}) | from_entries) as $machine |
    .paths[] | select(.local == "10.0.0.1:7000") | {kind, local, remote,
        machines: [.ends[][] | $machine[tostring]],
        sent: [.sent.messages, .sent.bytes], received: [.received.messages, .received.bytes]}' \
    both.json)"
check_equal "no process is left out" '6 1668 1648' "$(jq -r '
    "\(.processes | length) \([.processes[].sent.bytes] | add)" +
    " \([.processes[].received.bytes] | add)"' both.json)"
fails "the same trace twice" 1 './beta/: this trace is given twice; give it once' "$dpm" stats --json beta ./beta/
cp -r beta again
runs "a copy of it" "$dpm" stats --json beta again
check_equal "... is one machine, with each process twice" '["beta"] [100,100]' \
    "$(jq -c '.trace.machines, [.processes[].pid]' out | xargs -d '\n')"

# ---- groups ----

runs "--by user" "$dpm" stats --by user beta alpha
cp out by.text
check_equal "sums the processes of each user, on each machine" \
    "USER PROCESSES MACHINE CPU TIME % SENT % BYTES SENT % RECEIVED BYTES RECEIVED FAILED
1000 4 alpha 52.0 us 90 14 88 1.51 KiB 93 13 1.32 KiB 3
alice 1 beta 5.00 us 8.6 1 6.2 40 B 2.4 1 300 B 0
unknown 1 alpha 1.00 us 1.7 1 6.2 77 B 4.6 0 0 B 0" "$(table Users by.text)"
check_equal "... and what they sent to each other" \
    "1000@alpha 1000@alpha 12 86 1.22 KiB 80 16.5 KiB 9 B 1000 B 1000 B local
1000@alpha alice@beta 1 7.1 300 B 19 3.96 KiB 300 B 300 B 300 B remote
10.0.0.7:3333 1000@alpha 1 100 60 B 100 810 B 60 B 60 B 60 B local
alice@beta 1000@alpha 1 100 40 B 100 4.34 KiB 40 B 40 B 40 B remote
1000@alpha unknown 1 7.1 3 B 0.2 40 B 3 B 3 B 3 B local" "$(table 'Who sent to whom' by.text | sed 1d)"
check_equal "... with who used the ends of paths" \
    'tcp 1000@alpha 127.0.0.1:4000 1000@alpha 127.0.0.1:80 2 175 B 2 30 B 9.00 ms 9.00 ms 150 us 2 700 B' \
    "$(table Connections by.text | grep ':4000')"
check_equal "--by container: systemd's unit, or the cgroup's number" 'sink.service 1 beta
cgroup 77 4 alpha' "$("$dpm" stats --by container alpha beta 2> err > out
    table Containers out | grep -o -e '^sink.*beta' -e '^cgroup.*alpha' | sort -r)"
check_equal "--by machine: all processes of each" \
    "MACHINE PROCESSES CPU TIME % SENT % BYTES SENT % RECEIVED BYTES RECEIVED FAILED
alpha 5 53.0 us 91 15 94 1.59 KiB 98 13 1.32 KiB 3
beta 1 5.00 us 8.6 1 6.2 40 B 2.4 1 300 B 0" "$("$dpm" stats --by machine alpha beta 2> err > out
    table Machines out)"
check_equal "... and what they sent to each other" 'alpha alpha 12 86 1.22 KiB
alpha beta 1 7.1 300 B
beta alpha 1 100 40 B' "$(table 'Who sent to whom' out | grep -E '^(alpha|beta) (alpha|beta) ' | cut -d ' ' -f 1-6)"
check_equal "--by program: without an image, the name" 'client 1 server 1 twin 1 unknown 1' \
    "$("$dpm" stats --by program alpha 2> err > out
    table Programs out | sed 1d | grep -o '^[a-z]* [0-9]*' | sort | xargs)"
"$dpm" stats --by process alpha > out 2> err
sed '/^Rates and sizes of messages$/,/^$/d' out > without
check "--by process is what comes without it, and rates" cmp alpha.text without
check "... which come only when asked for" grep -q '^Rates and sizes of messages$' out
runs "--by with --json" "$dpm" stats --json --by user beta alpha
cp out by.json
check_equal "has groups in place of processes" '["cgroups","decisions","failures","files","groups","inputs","late_receivers","late_senders","loads","pairs","paths","procedures","trace"] "user"' \
    "$(jq -c 'keys, .trace.by' by.json | xargs -d '\n')"
same groups '[
    {"id": 1, "machine": "alpha", "name": "1000", "processes": 4, "cpu_ns": 52000,
     "sent": {"messages": 14, "bytes": 1551}, "received": {"messages": 13, "bytes": 1348}},
    {"id": 2, "machine": "beta", "name": "alice", "processes": 1, "cpu_ns": 5000,
     "sent": {"messages": 1, "bytes": 40}, "received": {"messages": 1, "bytes": 300}},
    {"id": 3, "machine": "alpha", "name": "unknown", "processes": 1, "cpu_ns": 1000,
     "sent": {"messages": 1, "bytes": 77}, "received": {"messages": 0, "bytes": 0}}
    ]' .groups by.json
check_equal "... whose ids pairs and paths speak of" '{"from":1,"to":2,"bytes":300} [[1],[2]]' \
    "$(jq -c '(.pairs[] | select(.bytes == 300) | {from, to, bytes}),
        (.paths[] | select(.local == "10.0.0.1:7000") | .ends)' by.json | xargs -d '\n')"
fails "--by what there is not" 2 "stats: --by 'colour': choose one of process, user, container, program" \
    "$dpm" stats --by colour alpha

# ---- many rows ----

runs "105 processes" "$dpm" stats crowd
check_equal "of processes the 100 largest are shown, and a row of others" \
    'p105 10105 - 1.00 us 1.0 1 1.0 105 B 1.9 0 0 B
others (5) 5.00 us 4.8 5 4.8 15 B 0.3 0 0 B' "$(table Processes out | sed -n '2p; $p')"
check_equal "of pairs, too" 'p6[10006] 192.0.2.2:1006 1 100 6 B 100 20 B 6 B 6 B 6 B remote
others (5) 5 15 B 47 B 5 B' "$(table 'Who sent to whom' out | tail -n 2)"
check_equal "of paths, too" 'tcp p6[10006] 192.0.2.1:1006 192.0.2.2:1006 1 6 B 0 0 B
others (5) 5 15 B 0 0 B' "$(table Connections out | tail -n 2)"
runs "--all" "$dpm" stats --all crowd
check_equal "shows every row, without others" '106 106 106 0' \
    "$(for title in Processes 'Who sent to whom' Connections; do table "$title" out | wc -l; done |
        xargs) $(grep -c others out)"
"$dpm" stats --json crowd > out 2> err
check_equal "JSON has everything always" '105 105 105' \
    "$(jq -r '"\(.processes | length) \(.pairs | length) \(.paths | length)"' out)"

# ---- incomplete traces, and no trace ----

copy cut
cut_end cut
runs "a trace that was cut" "$dpm" stats cut
check_equal "is said to be not complete" \
    '1 trace, machine alpha, 74.0 ms, 51 events, 3 lost, not complete' "$(sed -n 1p out)"
check "... and to be cut" grep -q '^dpm: cut was cut: its last records are missing' err
"$dpm" stats --json cut beta > out 2> err
check_equal "also among others" false "$(jq .trace.complete out)"
copy short
cut_data short
"$dpm" stats --json short > out 2> err
# 21 messages were in the second packet of data
check_equal "what a cut has taken away is lost" '{"complete":false,"lost":25}' \
    "$(jq -c '.trace | {complete, lost}' out)"
copy silent
: > silent/data
cut_end silent
truncate -s 4096 silent/control
runs "a trace of a machine where nothing happened" "$dpm" stats silent
check_equal "has empty tables" 3 "$(grep -c '^none$' out)"
"$dpm" stats --json silent > out 2> err
check_equal "... and empty lists" '[0,[],[],[]]' \
    "$(jq -c '[.trace.duration_ns, .processes, .pairs, .paths]' out)"
copy damaged
set_byte damaged/data $((4096 + 88 + 8)) 200
fails "a damaged trace" 1 'damaged/data: at byte 4184: .*damaged' "$dpm" stats damaged
fails "a damaged trace, for programs" 1 'damaged/data: at byte 4184: .*damaged' \
    "$dpm" stats --json damaged
if long_ones; then
    refuses_what_is_no_trace stats
else
    skip "what is no trace, alone" "takes long: only with ./dev test --all"
fi
refuses_what_is_no_trace stats --json alpha

# ---- order, tables, time, CSV ----

check_equal "--sort cpu" "client server twin" \
    "$("$dpm" stats --csv --sort cpu alpha 2> err | cut -d, -f1 | grep -E 'client|server|twin' | xargs)"
check_equal "--sort name" "client server twin" \
    "$("$dpm" stats --csv --sort name alpha 2> err | cut -d, -f1 | grep -E 'client|server|twin' | xargs)"
check_equal "--sort messages" "client server" \
    "$("$dpm" stats --csv --sort messages alpha 2> err | cut -d, -f1 | grep -E 'client|server' | xargs)"
# For each order, the values by which rows are sorted, from the table.
cat > amounts.py << 'END'
import csv, sys
amounts = {
    "bytes": lambda row: int(row["sent_bytes"]) + int(row["received_bytes"]),
    "messages": lambda row: int(row["sent_messages"]) + int(row["received_messages"]),
    "cpu": lambda row: int(row["cpu_ns"]),
    "response": lambda row: int(row["response_ns_p99"] or row["request_ns_p99"] or 0),
}[sys.argv[1]]
rows = [amounts(row) for row in csv.DictReader(sys.stdin)]
print(rows == sorted(rows, reverse=True), len(set(rows)) > 2)
END
for table in process path; do
    orders='bytes messages cpu response'
    [ $table = process ] || orders=response
    [ $table = process ] || ! long_ones || orders='bytes messages response'
    for order in $orders; do
        check_equal "--sort $order of each $table: the largest first" "True True" \
            "$("$dpm" stats --csv --by $table --sort $order alpha 2> err | python3 amounts.py $order)"
    done
done
check_equal "... which is another order of processes for answers than for bytes" \
    "200,300,100,400, 200,100,400,300," \
    "$(for order in bytes response; do
        "$dpm" stats --csv --sort $order alpha 2> err | python3 -c 'import csv, sys
print(*[row["pid"] for row in csv.DictReader(sys.stdin)], sep=",")'
    done | xargs)"
check_equal "without --sort the rows with most bytes are first" "$("$dpm" stats --csv --sort bytes crowd 2> err)" \
    "$("$dpm" stats --csv crowd 2> err)"
for table in process pair path; do
    "$dpm" stats --csv --by $table alpha > out.csv 2> err
    python3 - out.csv > rows << 'END'
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
print(len(rows) - 1, "rows,", len({len(row) for row in rows}), "length, sum", sum(
    int(row.get("sent_bytes") or row["bytes"]) for row in csv.DictReader(open(sys.argv[1]))))
END
    case $table in process) of=processes ;; *) of=${table}s ;; esac
    check_equal "--csv --by $table: as many rows as JSON has, all as long as the heading, with the same sum" \
        "$(jq -r ".$of | \"\(length) rows, 1 length, sum \(map(.sent.bytes // .bytes) | add)\"" alpha.json)" "$(cat rows)"
    # for each row, JSON against CSV, by its figures
    jq -r --arg of $of '.[$of][] | [.queue.messages_max, .queue.messages_now, .queue.bytes_max, .queue.bytes_now,
            .queue.unreceived] +
        (if $of == "paths" then [.duplicates, .network.unacknowledged_bytes] else [null, null] end) +
        [(.messages_per_s, .bytes_per_s, .sent_messages_per_s, .sent_bytes_per_s, .received_messages_per_s,
            .received_bytes_per_s) | if . then . * 1000 | round else . end] +
        [(.size, .message_wait_ns, .receiver_wait_ns, .delivery_ns, .sender_blocked_ns) | .count // 0, .p50, .p99, .max]
        | map(. // "-") | join(" ")' alpha.json | sort > wanted
    python3 - out.csv << 'END' | sort > found
import csv, sys
queue = ["messages_max", "messages_now", "bytes_max", "bytes_now", "unreceived"]
for row in csv.DictReader(open(sys.argv[1])):
    cells = [row.get("queue_" + name) for name in queue]
    cells += [row.get("duplicates"), row.get("unacknowledged_bytes")]
    for whose in ["", "sent_", "received_"]:
        for what in ["messages", "bytes"]:
            rate = row.get(whose + what + "_per_s")
            cells.append(rate and str(round(float(rate) * 1000)))
    for kind in ["size", "message_wait_ns", "receiver_wait_ns", "delivery_ns", "sender_blocked_ns"]:
        cells.append(row.get(kind + "_count", "0"))
        cells += [row.get(kind + "_" + part) for part in ["p50", "p99", "max"]]
    print(*[cell or "-" for cell in cells])
END
    check_equal "--csv --by $table: queues, rates, sizes and waits are those of JSON" "$(cat wanted)" "$(cat found)"
done
check "... of which there are some" grep -q '[1-9]' found
check_equal "--by path has a row of waits for each path of JSON that has any" \
    "$(jq '[.paths[] | select(.queue.messages_max > 0 or .message_wait_ns or .receiver_wait_ns or
        .sender_blocked_ns or .delivery_ns)] | length' alpha.json)" \
    "$("$dpm" stats --by path alpha 2> err | sed -n '/^Where messages wait/,/^$/p' | sed '1,2d; /^$/d' | wc -l)"
# Rates and sizes in the table, against JSON: "NAME SENT/S RECEIVED/S MIN MAX" for each.
"$dpm" stats --by process alpha 2> err | sed -n '/^Rates and sizes of messages$/,/^$/p' |
    sed -E '1,2d; /^$/d; s/ (B|KiB)( |$)/\1\2/g; s/ (B|KiB)( |$)/\1\2/g; s/^(unknown)\[stream [0-9]*\]/\1[null]/' > rates
check_equal "--by process has rates and sizes of each that sent or received" "$(jq -r '
    def frequency: if . < 9.995 then . * 100 | round / 100 elif . < 99.95 then . * 10 | round / 10 else round end;
    .processes[] | select(.sent.messages + .received.messages > 0) | "\(if .name == "" then "unknown" else .name end)[\(.pid)] \(
        .sent_messages_per_s | frequency) \(.received_messages_per_s | frequency) \(.size.min // "-")B \(.size.max // "-")B"' alpha.json | sort)" \
    "$(awk '{ print $1, $4 + 0, $12 + 0, $6, $11 }' rates | sort)"
check_equal "--by pair shows pairs" 1 \
    "$("$dpm" stats --by pair alpha 2> err | grep -cE '^(Processes|Who sent to whom|Connections)')"
for every in 1ms 7ms 1s; do
    "$dpm" stats --json --every $every alpha > out 2> err
    check_equal "--every $every loses no message" true "$(jq 'def sum: map([.messages, .bytes]) | transpose | map(add);
        ([.processes[].sent, (.pairs[] | select(.from | type == "string"))] | sum) as $all |
        $all[0] > 0 and $all == (.intervals | sum)' out)"
done
check_equal "--every 100 ns becomes longer until there are few enough" true \
    "$("$dpm" stats --json --every 0.0001ms alpha 2> err | jq '.intervals | length <= 10000 and length > 1')"
"$dpm" stats --json --histogram alpha > out 2> err
check_equal "--histogram has every message" true "$(jq '[.pair_histograms[].size[][2]] == [] or
    ([.pair_histograms[] | [.size[][2]] | add] == [.pairs[].size.count])' out)"
for of in process pair path; do
    check_equal "... and every time of each $of" true "$(
        jq --arg of $of '(if $of == "process" then .processes else .[$of + "s"] end) as $rows |
            [.[$of + "_histograms"][] | to_entries | map(select(.key | endswith("_ns")) |
                {key, value: ([.value[][2]] | add // 0)})] ==
            [$rows[] | [to_entries[] | select(.key | IN("response_ns", "request_ns",
                "response_last_byte_ns", "request_last_byte_ns", "message_wait_ns",
                "receiver_wait_ns", "sender_blocked_ns", "delivery_ns")) |
                {key, value: (.value.count // 0)}]]' out)"
done
check "--histogram draws waits of paths and pairs" sh -c "
    test \$('$dpm' stats --histogram alpha 2> err | grep -c '^Receive-queue delay, .* to ') -ge 2"
check "--every and --histogram draw" sh -c "
    '$dpm' stats --every 10ms --histogram alpha 2> err | grep -q '##########'"

# ---- on a terminal ----

# figures FILE: the figures in it, each once. Names may be folded, figures may not.
figures() {
    tr -s ' ' '\n' < "$1" | grep -x '[0-9.,]*[0-9]' | sort -u
}

# longest FILE: columns of its longest line.
longest() {
    wc -L < "$1"
}

# fits NAME COLUMNS: whether the file out has at most so many columns.
fits() {
    widest=$(longest out)
    check "$1: $widest" test "$widest" -gt 0 -a "$widest" -le "$2"
}

unset COLUMNS
"$dpm" stats alpha > whole.all 2> err
if long_ones; then
    set -- '' '--histogram --every 10ms' '--by path' '--by pair' '--by machine beta'
else
    set -- '' '--histogram --every 10ms' '--by path'
    skip "stats --by pair and --by machine on a terminal" "takes long: only with ./dev test --all"
fi
for options in "$@"; do
    # shellcheck disable=SC2086 # several words
    set -- $options alpha
    "$dpm" stats "$@" > whole 2> err
    python3 "$tests/on_terminal.py" 1000 "$dpm" stats "$@" > out 2> err
    check "a wide terminal shows stats $options as a file has it" cmp whole out
    if long_ones; then
        widths='40 60 80 120 200'
    elif [ -z "$options" ]; then
        widths='60 80'
    else
        widths=80
    fi
    for columns in $widths; do
        python3 "$tests/on_terminal.py" $columns "$dpm" stats "$@" > out 2> err
        fits "stats $options fits a terminal of $columns columns" $columns
        figures out > found
        python3 "$tests/on_terminal.py" $columns "$dpm" stats --all "$@" > out 2> err
        fits "... with --all, too" $columns
        check_not "... which leaves out no column" grep -q 'left out to fit' out
        figures whole > wanted
        figures out > all # and what looks like a figure at the end of a folded name
        check_equal "... and cuts no figure" "" "$(comm -23 wanted all)"
        [ $columns -lt 80 ] || # narrower, folded names look like figures
            check_equal "... nor does it without --all" "" "$(comm -23 found all)"
    done
done
python3 "$tests/on_terminal.py" 80 "$dpm" stats alpha > out 2> err
check_equal "the least useful columns are left out, and named" '(left out to fit: PARENT; --all shows them)' \
    "$(grep -m 1 '^(left out' out)"
check_not "... not those of a table that fits" grep -q '^(left out.* MODULE' out
COLUMNS=80 "$dpm" stats alpha > forced 2> err
check "COLUMNS makes a file as narrow" cmp out forced
COLUMNS=80 "$dpm" stats --json alpha > forced 2> err
"$dpm" stats --json alpha > out 2> err
check "... but no JSON" cmp out forced
python3 "$tests/on_terminal.py" 90 "$dpm" stats --all alpha > out 2> err
check_not "a part of a table does not begin with a figure that belongs to one in the part before" \
    grep -qE '^(FROM +TO|KIND +LOCAL +REMOTE) +(P50|P99|MAX|%)( |$)' out
widest=$(longest whole.all)
check "the tables were too wide for that: $widest" test "$widest" -gt 120
COLUMNS=90 python3 "$tests/on_terminal.py" 120 "$dpm" stats alpha > out 2> err
widest=$(longest out)
check "COLUMNS is believed more than the terminal" test "$widest" -le 90 -a "$widest" -gt 80
check_equal "names that do not fit go on in the next line" 'tcp client[200] server[100], 2 175 B
127.0.0.1:4000 twin[400]
127.0.0.1:80' "$(python3 "$tests/on_terminal.py" 80 "$dpm" stats --all alpha 2> err |
    grep -m 1 -A 2 'server\[100\],  *2  *175 B$' | squeeze | sed 's/^ //; s/ $//')"

# On a terminal of 60 columns: no "[pid]" is broken, and each part of a table repeats the row names.
python3 "$tests/on_terminal.py" 60 "$dpm" stats --all alpha > out 2> err
check_equal "no process is broken" "" "$(sed 's/\[[0-9:/]*\]//g; s/{}\[\]//; s/@q.*\[2J//' out | grep '[][]')"
check_equal "parts of the table of processes have their pids" "$(sed -n '/^Processes$/,/^$/p' whole.all | awk '{ print $2 }' | grep '^[0-9]' | sort)" \
    "$(sed -n '/^Processes$/,/^How/p' out | awk '/^PROCESS/ { part++ } part == 2 { print $2 }' | grep '^[0-9]' | sort)"
if long_ones; then
    set -- 'parallelism --search 2' path 'causality --strings --slowest 2' report why 'why --waits' check
else
    set -- report 'why --waits'
    skip "single analyses, and check, fit a terminal" "takes long: only with ./dev test --all"
fi
for command in "$@"; do
    [ "$command" = check ] && trace= || trace=alpha
    [ "$command" = check ] || ! long_ones && widths=60 || widths='40 60'
    for columns in $widths; do
        # shellcheck disable=SC2086 # several words
        python3 "$tests/on_terminal.py" $columns "$dpm" $command $trace 2> err | grep -v '^         [^ ]' > out # except commands
        fits "$command fits a terminal of $columns columns" $columns
    done
done

# colours MODE...: how many lines have colours, on a terminal with this environment.
colours() {
    env "$@" python3 "$tests/on_terminal.py" 100 --raw "$dpm" stats alpha 2> err | grep -c "$(printf '\033')"
}
check "a terminal gets colours" test "$(colours TERM=xterm)" -gt 5
check_equal "... unless NO_COLOR says no" 0 "$(colours TERM=xterm NO_COLOR=1)"
check "... empty it says nothing" test "$(colours TERM=xterm NO_COLOR=)" -gt 5
check_equal "... or the terminal is dumb" 0 "$(colours TERM=dumb)"
for options in '--histogram --every 10ms' '--by path' '--by container'; do
    # shellcheck disable=SC2086 # several words
    check_equal "no line of stats $options ends with a blank" 0 "$("$dpm" stats $options alpha 2> err | grep -c ' $')"
done

# ---- names of hosts ----

# Uses the machine's resolver. /etc/hosts has 127.0.0.1 nearly everywhere, but hardly the other ends of alpha's
# connections, 10.0.0.2 and 10.0.0.7.
if getent hosts 10.0.0.2 > out; then
    skip "--resolve" "10.0.0.2 has a name here"
else
    check_equal "--resolve leaves what has no name" "$("$dpm" stats alpha 2> err)" \
        "$("$dpm" stats --resolve alpha 2> err)"
fi

# ---- procedures ----

# From dump, for each SEND and RECEIVE, added up by hand.
"$dpm" dump --json gamma 2> err | jq -S -s -c '[.[] | select(.event == "SEND" or .event == "RECEIVE")
    | select(.pc) | {procedure, "module": .module, bytes}]
    | group_by([.procedure, .module])
    | map({procedure: .[0].procedure, "module": .[0].module, bytes: map(.bytes) | add}) | sort' > wanted
"$dpm" stats --json gamma 2> err | jq -S -c '[.procedures[] |
    {procedure, "module": .module, bytes: (.sent.bytes + .received.bytes)}] | sort' > found
check_equal "procedures are those that dump names" "$(cat wanted)" "$(cat found)"
check "there are some" grep -q procedure found
check_equal "--by procedure has as many rows" "$(jq length found)" \
    "$("$dpm" stats --csv --by procedure gamma 2> err | tail -n +2 | wc -l)"

# ---- files ----

"$build/tests/programs/sample-trace" files files
"$dpm" stats --json files 2> err > out
# of one write, the bytes were removed by a selection: nothing is made up for it
check_equal "JSON has what was done with a file" \
    '{"process":1,"file":"/var/lib/data","opens":1,"closes":1,"reads":{"calls":1,"bytes":8192},"writes":{"calls":2,"bytes":150}}' \
    "$(jq -c '.files[] | {process, file, opens, closes, reads, writes}' out)"
check_equal "... and how long it took" "500 1000" \
    "$(jq -r '.files[] | "\(.read_ns.sum // .read_ns.mean + 0) \(.write_ns.sum // (.write_ns.mean * .write_ns.count))"' out)"
check_equal "a file is no connection, a message queue is one" "mq-sysv msqid 200 type 5" \
    "$(jq -r '.paths[] | "\(.kind) \(.local)"' out)"
check "a table has it" sh -c "'$dpm' stats --by file files 2> err | tr -s ' ' |
    grep -q 'named\[100\] /var/lib/data 1 1 1 8.00 KiB 500 ns'"
check_equal "groups add files up" "1" "$("$dpm" stats --json --by user files 2> err | jq '.files | length')"
check_not "without files there is no table" sh -c "'$dpm' stats alpha 2> err | grep -qx Files"

# ---- wrong usage ----

fails "no trace" 2 'stats: name a trace.*dpm stats --help' "$dpm" stats
fails "an unknown option" 2 "stats: unrecognized option '--top'" "$dpm" stats --top alpha
fails "--sort by what is not there" 2 "stats: --sort 'color': choose one of bytes" \
    "$dpm" stats --sort color alpha
fails "--by what is not there" 2 "stats: --by 'day': choose one of process" "$dpm" stats --by day alpha
fails "no time" 2 "stats: --every '0s': give a time greater than 0" "$dpm" stats --every 0s alpha
fails "two faces" 2 "stats: --json and --csv" "$dpm" stats --json --csv alpha
fails "one table of several" 2 "stats: --csv prints one table" "$dpm" stats --csv --every 1s alpha
fails "... or of bars" 2 "stats: --csv prints one table" "$dpm" stats --csv --histogram alpha
fails "a value for an option that has none" 2 "stats: option '--all' takes no argument" \
    "$dpm" stats --all=yes alpha

cannot_print "tables" "$dpm" stats alpha
cannot_print "much JSON" "$dpm" stats --json crowd
cannot_print "CSV" "$dpm" stats --csv alpha
if long_ones; then
    cannot_print "long tables" "$dpm" stats --all crowd
    cannot_print "JSON" "$dpm" stats --json alpha
else
    skip "long tables, and short JSON, that cannot be written" "takes long: only with ./dev test --all"
fi
finish
