#!/bin/sh
# SPDX-License-Identifier: MIT
# corners_test.sh BUILD_FOLDER: rare operations that a meter easily gets wrong (corners.c).
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
corners=$1/tests/programs/corners
cd "$scratch" || exit 1

# One recording of all corners, one after the other; each leaves its pid. At the end one more process computes, says what
# CPU time it has used (/proc/self/stat, in 1/100 s), and lives on.
cat > all.sh << 'END'
for corner in end-of-file exec-thread interrupted spin reconnect; do
    sh -c 'echo $$ > "$1.pid"; exec "$0" "$1"' "$1" $corner > $corner.out 2>&1
    echo $? > $corner.status
done
timeout 60 sh -c 'echo $$ > busy.pid; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done
    read -r line < /proc/self/stat; echo "$line" > worked.new; mv worked.new worked; while :; do :; done' &
until [ -e worked ]; do sleep 0.05; done
END
"$dpm" run -o all.trace -- sh all.sh "$corners" 2> err
kill "$(cat busy.pid)"
"$dpm" dump --json all.trace > all.json 2> dump.err
"$dpm" stats --json all.trace > stats.json 2> stats.err

# look CORNER: it has ended in order; CORNER.json has its records, from its STREAM to that of the next one.
look() {
    check_equal "corner $1 ends in order" 0 "$(cat "$1.status")"
    cat ./*.pid | jq -c -n --slurpfile all all.json --argjson own "$(cat "$1.pid")" '[inputs] as $pids |
        reduce $all[] as $one ([false, []];
            if $one.event == "STREAM" and ($pids | index($one.pid)) then .[0] = ($one.pid == $own) else . end |
            if .[0] then .[1] += [$one] else . end) | .[1][]' > "$1.json"
}

look end-of-file
check_equal "an empty message is one, the end of file is none" "2 2" "$(jq -r '[.processes[] | select(.command | endswith("corners end-of-file"))] |
    "\(map(.sent.messages) | add) \(map(.received.messages) | add)"' stats.json)"
check_equal "the end of file is marked, and only it" "[0,null] [5,null] [0,true]" "$(jq -r -s '
    [.[] | select(.event == "RECEIVE") | [.bytes, .end_of_file] | tojson] | join(" ")' \
    end-of-file.json)"

look exec-thread
check_equal "a process has the name that a thread's exec gave it" true \
    "$(jq -r --argjson pid "$(cat exec-thread.pid)" '.processes[] | select(.pid == $pid).name' stats.json)"

look interrupted
check_equal "a receive that waits after an interrupted one has its RECEIVECALL" 2 \
    "$(jq -s '[.[] | select(.event == "RECEIVECALL") | .path] | unique | length' interrupted.json)"
check_equal "... and its RECEIVE is not said to have found data at once" null \
    "$(jq 'select(.event == "RECEIVE") | .call_implied' interrupted.json)"

look reconnect
check_equal "a socket that connects twice has two paths" "4 4" "$(jq -r \
    '.paths | map(select(.kind == "tcp" and (.ends | all(length > 0))) | .sent.bytes) | join(" ")' stats.json)"
check_equal "... and each end of each is closed in the trace, and the listeners" "4 2" \
    "$(jq -r -s '[.[] | select(.event == "DESTROYPATH" and .kind == "tcp")] | group_by(.remote == "0.0.0.0:0") |
        map(map(.path) | unique | length) | join(" ")' all.json)"

look spin
check_equal "no RECEIVE is earlier than its SEND, however quick the receiver" "200 0" "$(jq -r -s '
    (map(select(.event == "PATH")) | map({(.path | tostring): "\(.cookie) \(.peer)"}) | add) as $here |
    (map(select(.event == "PATH")) | map({(.path | tostring): "\(.peer) \(.cookie)"}) | add) as $there |
    (map(select(.event == "SEND")) |
        map({($here[.path | tostring]): (.time_ns - .span_ns)}) | add) as $sent |
    [.[] | select(.event == "RECEIVE" and .bytes == 1) |
        .time_ns - $sent[$there[.path | tostring]]] |
    "\(length) \(map(select(. < 0)) | length)"' spin.json)"

# used FILE: the CPU time that a line of /proc/PID/stat says, in ns, but for the tick that has begun
used() {
    awk '{ sub(/.*\) /, ""); print ($12 + $13 - 1) * 10000000 }' "$1"
}
# A process that is alive at the end also has its CPU time, and so has one whose end is not metered.
check "what lives on has its CPU time, at least what it says itself: $(used worked) ns" jq -e --argjson pid "$(cat busy.pid)" \
    --argjson used "$(used worked)" '[.processes[] | select(.pid == $pid) | .cpu_ns] | $used > 0 and .[0] >= $used' stats.json
"$dpm" run --flags send -o send.trace -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done
    read -r line < /proc/self/stat; echo "$line" > worked' 2> err
check "CPU time is known whatever is metered: at least $(used worked) ns" sh -c \
    "'$dpm' stats --json send.trace | jq -e '$(used worked) > 0 and .processes[0].cpu_ns >= $(used worked)'"
finish
