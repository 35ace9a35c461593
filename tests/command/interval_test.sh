#!/bin/sh
# SPDX-License-Identifier: MIT
# interval_test.sh BUILD_FOLDER: reports during a recording agree with the trace afterwards.
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

# reported.sh REPORTED: waits, as a part of the command, until a line of a report matches this and other reports have
# followed. It sends nothing itself.
cat > reported.sh << 'END'
i=0
until grep -q "$1" err || [ $i = 600 ]; do i=$((i + 1)) && sleep 0.05; done
sleep 0.6
[ $i -lt 600 ]
END

# Messages, then silence: everything has been reported when the command ends.
compare() {
    name=$1
    shift
    rm -f err
    "$dpm" run --interval 250ms --kinds unix -o "$name.trace" "$@" > out 2> err
    so_far err > report
    lasting < report > live
    "$dpm" stats "$name.trace" | lasting > whole
    check "$name: there are reports while it goes on" test "$(grep -c ', so far$' err)" -ge 2
    check "... which match receives with sends" grep -q '^Matched receives: ' live
    check_equal "... and agree with the trace" "$(cat whole)" "$(cat live)"
    check "... messages that wait are among them" grep -q '^Messages that wait to be received' report
    check "... and what it costs" grep -q '^DPM itself: ' report
}

compare few sh -c "'$load' 2000 64; sh reported.sh '^Matched receives: 2,000 exact'"
# more than is read from the history at once
compare many sh -c "'$load' 60000 64; sh reported.sh '^Matched receives: 60,000 exact'"
compare ptrace --meter ptrace sh -c "'$load' 2000 64; sh reported.sh '^Matched receives: 2,000 exact'"

# What is new in each interval adds up to the whole: the first report, and the intervals of the others.
"$dpm" run --interval 250ms --kinds unix -o sum.trace sh -c "
    for i in 1 2 3 4 5 6; do '$load' \$((i * 100)) 64; sleep 0.3; done; sh reported.sh '^Matched receives: 2,100 exact'" > out 2> err
# sum_up: messages sent, of the first report and the intervals of the others
sum_up() {
    awk '
    /^1 trace, / { reports += /, so far$/; interval = 0; table = 0 }
    /^In the last / { interval = 1; getline; sub(",", "", $1); sum += $1 }
    /^PROCESS .* CPU TIME/ { for (at = 1; at <= NF && $at != "SENT"; at++) { } table = 1 }
    /^$/ { table = 0 }
    reports == 1 && !interval && table && match($0, / [0-9,]+ +[0-9.]+ [KM]?i?B /) {
        text = substr($0, RSTART, RLENGTH); gsub(",", "", text); split(text, words, " "); sum += words[1] }
    END { print sum }' err
}
whole=$("$dpm" stats --json sum.trace | jq '[.processes[].sent.messages] | add')
check_equal "the intervals add up to the whole" "$whole" "$(sum_up)"
check "... and there are some" test "$(grep -c '^In the last ' err)" -ge 3
check "... with the latencies of the interval" sh -c "sed -n '/^In the last/,/^1 trace/p' err | grep -q 'receive-queue delay'"

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

"$dpm" run --kinds unix -o without.trace "$load" 2000 64 > out 2> err
check_not "without --interval there is no report before the last" grep -q ', so far$' err

finish
