#!/bin/sh
# SPDX-License-Identifier: MIT
# corners_test.sh BUILD_FOLDER: rare operations that a meter easily gets wrong (corners.c).
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
corners=$1/tests/programs/corners
cd "$scratch" || exit 1

# record CORNER: runs it metered; CORNER.json has the records, CORNER.stats the statistics.
record() {
    check "corner $1 ends in order" "$dpm" run -o "$1.trace" -- "$corners" "$1"
    "$dpm" dump --json "$1.trace" > "$1.json"
    "$dpm" stats --json "$1.trace" > "$1.stats"
}

record end-of-file
check_equal "an empty message is one, the end of file is none" "2 2" "$(jq -r \
    '"\([.processes[].sent.messages] | add) \([.processes[].received.messages] | add)"' \
    end-of-file.stats)"
check_equal "the end of file is marked, and only it" "[0,null] [5,null] [0,true]" "$(jq -r -s '
    [.[] | select(.event == "RECEIVE") | [.bytes, .end_of_file] | tojson] | join(" ")' \
    end-of-file.json)"

record exec-thread
check_equal "a process has the name that a thread's exec gave it" true \
    "$(jq -r '.processes[0].name' exec-thread.stats)"

record interrupted
check_equal "a receive that waits after an interrupted one has its RECEIVECALL" 2 \
    "$(jq -s '[.[] | select(.event == "RECEIVECALL") | .path] | unique | length' interrupted.json)"
check_equal "... and its RECEIVE is not said to have found data at once" null \
    "$(jq 'select(.event == "RECEIVE") | .call_implied' interrupted.json)"

record reconnect
check_equal "a socket that connects twice has two paths" "4 4" "$(jq -r \
    '.paths | map(select(.ends | all(length > 0)) | .sent.bytes) | join(" ")' reconnect.stats)"
check_equal "... and each end of each is closed in the trace, and the listeners" "4 2" \
    "$(jq -r -s '[.[] | select(.event == "DESTROYPATH")] | group_by(.remote == "0.0.0.0:0") |
        map(map(.path) | unique | length) | join(" ")' reconnect.json)"

record spin
check_equal "no RECEIVE is earlier than its SEND, however quick the receiver" "200 0" "$(jq -r -s '
    (map(select(.event == "PATH")) | map({(.path | tostring): "\(.cookie) \(.peer)"}) | add) as $here |
    (map(select(.event == "PATH")) | map({(.path | tostring): "\(.peer) \(.cookie)"}) | add) as $there |
    (map(select(.event == "SEND")) |
        map({($here[.path | tostring]): (.time_ns - .span_ns)}) | add) as $sent |
    [.[] | select(.event == "RECEIVE" and .bytes == 1) |
        .time_ns - $sent[$there[.path | tostring]]] |
    "\(length) \(map(select(. < 0)) | length)"' spin.json)"

# A process that is alive at the end also has its CPU time, and so has one whose end is not metered.
"$dpm" run -o busy.trace -- sh -c '
    timeout 60 sh -c "i=0; while [ \$i -lt 300000 ]; do i=\$((i+1)); done; : > worked; while :; do :; done" &
    until [ -e worked ]; do sleep 0.05; done' 2> busy.err
pid=$(sed -n 's/.*still running.* sh\[\([0-9]*\)\].*/\1/p' busy.err)
kill "$pid"
check "what lives on has its CPU time" sh -c "'$dpm' stats --json busy.trace |
    jq -e '[.processes[] | select(.pid == $pid) | .cpu_ns] | .[0] > 50000000'"
"$dpm" run -o send.trace --flags send -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' \
    2> /dev/null
check "CPU time is known whatever is metered" sh -c \
    "'$dpm' stats --json send.trace | jq -e '.processes[0].cpu_ns > 10000000'"
finish
