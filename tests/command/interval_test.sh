#!/bin/sh
# SPDX-License-Identifier: MIT
# interval_test.sh BUILD_FOLDER: reports during a recording agree with the trace afterwards, by counts.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
load=$1/tests/programs/load
cd "$scratch" || exit 1

# so_far FILE: the last report before the final one.
so_far() {
    awk '/^1 trace, / { on = /, so far$/; if (on) text = "" } /^In the last / { on = 0 } on { text = text $0 "\n" } END { printf "%s", text }' "$1"
}

# lines that do not depend on the length of the recording: waits between processes, and the matching of messages
lasting() {
    awk '/^Matched receives: / || /^Who waits for whom$/ { on = 1 } on { print } /^$/ { on = 0 }
         /^Matched receives: / { on = 0 }'
}

# parts.sh LOAD TOTAL MESSAGES...: sends so many messages, each part after a report on an interval since the one before;
# then waits until a report has the total and one has the machine, and for another. It sends nothing itself meanwhile.
cat > parts.sh << 'END'
program=$1 total=$2
shift 2
reports() {
    grep -c "$1" err
}
wait_for() { # PATTERN COUNT: more than so many lines
    i=0
    until [ "$(reports "$1")" -gt "$2" ] || [ $i = 1200 ]; do i=$((i + 1)) && sleep 0.05; done
}
for messages; do
    "$program" "$messages" 64
    wait_for ', so far$' "$(reports ', so far$')"
done
wait_for "^Matched receives: $total exact" 0
wait_for '^Machine$' 0
wait_for ', so far$' "$(reports ', so far$')"
END

# reported.sh REPORTED: waits, as a part of the command, until a line of a report matches this and other reports have
# followed. It sends nothing itself.
cat > reported.sh << 'END'
i=0
until grep -q "$1" err || [ $i = 600 ]; do i=$((i + 1)) && sleep 0.05; done
sleep 0.6
[ $i -lt 600 ]
END

# run_parts MESSAGES...
run_parts() {
    rm -rf err "$name.trace"
    # shellcheck disable=SC2086 # several options
    "$dpm" run --interval 250ms --kinds unix $options -o "$name.trace" sh parts.sh "$load" "$total" "$@" > out 2> err
    so_far err > report
    lasting < report > live
    "$dpm" stats "$name.trace" 2> dump.err | lasting > whole
}

# record NAME TOTAL OPTIONS MESSAGES...
record() {
    name=$1 total=$2 options=$3
    shift 3
    repeat run_parts "$@"
    check "$name: there are reports while it goes on" test "$(grep -c ', so far$' err)" -ge 2
    check "... which match receives with sends" grep -q "^Matched receives: $total exact" live
    check_equal "... and agree with the trace" "$(cat whole)" "$(cat live)"
    check "... messages that wait are among them" grep -q '^Messages that wait to be received' report
    check "... and what it costs" grep -q '^DPM itself: ' report
    check "... and the machine" grep -q '^Machine$' report
}

# the first part is more than is read from the history at once
record "$meter" 62,100 "" 60000 100 200 300 400 500 600
# What is new in each interval adds up to the whole: the first report, and the intervals of the others.
# sum_up: messages sent, of the first report and the intervals of the others
sum_up() {
    awk '
    /^1 trace, / { reports += /, so far$/; interval = 0; table = 0 }
    /^In the last / { interval = 1; getline; sub(",", "", $1); sum += $1 }
    /^PROCESS .* CPU TIME/ { for (at = 1; at <= NF && $at != "SENT"; at++) { } table = 1 }
    /^$/ { table = 0 }
    reports == 1 && !interval && table && match($0, / [0-9,]+ +([0-9.]+ +)?[0-9.]+ [KM]?i?B /) {
        text = substr($0, RSTART, RLENGTH); gsub(",", "", text); split(text, words, " "); sum += words[1] }
    END { print sum }' err
}
whole=$("$dpm" stats --json "$meter.trace" | jq '[.processes[].sent.messages] | add')
check_equal "the intervals add up to the whole" "$whole" "$(sum_up)"
check "... and there are some" test "$(grep -c '^In the last ' err)" -ge 3
check "... with the latencies of the interval" sh -c "sed -n '/^In the last/,/^1 trace/p' err | grep -q 'receive-queue delay'"

[ "$meter" = ptrace ] || record ptrace 2,000 "--meter ptrace" 2000

# The client is not metered, and without SENDCALL no silence proves that its sends will not come. No report says that
# nothing has happened: first all events are counted, then all figures know them, while the server still runs.
cat > serve.py << 'END'
import os, socket
listener = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as file:
    print(listener.getsockname()[1], file=file)
os.rename("port.new", "port")
for _ in range(60):
    connection, _ = listener.accept()
    connection.sendall(connection.recv(100))
    connection.close()
END
cat > ask.py << 'END'
import os, socket, time
for _ in range(1200):
    if os.path.exists("port"):
        break
    time.sleep(0.05)
for i in range(60):
    with socket.create_connection(("127.0.0.1", int(open("port").read()))) as connection:
        connection.sendall(b"x" * 20)
        connection.recv(100)
    time.sleep(0.02)
END
python3 ask.py &
rm -f err
"$dpm" run --interval 250ms --flags send,receive --kinds tcp -o strangers.trace sh -c "
    python3 serve.py && sh reported.sh ' 120 events.* so far$' && sh reported.sh ' 120 events, .* so far$'" > out 2> err
check_equal "an unmetered client: all events are reported while it goes on" 0 $?
wait $!
check_equal "... no report counts fewer than the one before" "" "$(awk '/ events.*, so far$/ {
    for (at = 1; $at !~ /^events/; at++) { } if ($(at - 1) < last) print; last = $(at - 1) }' err)"
so_far err | grep '^Matched receives: ' > live
check_equal "... its receives are given up, and no send" "Matched receives: 60 to or from unmonitored peers." "$(cat live)"
whole=$("$dpm" stats --json strangers.trace | jq '[.processes[].sent.messages] | add')
check_equal "... the intervals add up to the whole" "60 60" "$whole $(sum_up)"


finish
