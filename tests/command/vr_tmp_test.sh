#!/bin/sh
# SPDX-License-Identifier: MIT
# view_run_test.sh BUILD_FOLDER: `dpm view run` carries out views over queue_manager.c, which keeps its own account of each
# change: sensors, conditions in them, notifications, receivers that are dead, instances, figures of the last interval, acts of
# an adaptation, and the death of the monitor and of an adaptation controller.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/sample.sh"
need_meter
need_programs python3 jq taskset renice
called=queue-$$ # programs are found by name, and this test may run twice at once
cp "$1/tests/programs/queue-manager" "$scratch/$called"
manager=$scratch/$called
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1

# has_line FILE TEXT: the file has a line with this text.
has_line() {
    grep -q "$2" "$1" 2> /dev/null
}

# answered FILE COUNT: the program has answered more often than that.
answered() {
    [ "$(grep -c '^ok' "$1")" -gt "$2" ]
}

# order NAME LINE: sends a line to the program NAME, and waits until it has done that.
order() {
    answers=$(grep -c '^ok' "$1.out")
    echo "$2" >&9
    wait_for 30 answered "$1.out" "$answers"
}

# first_byte PID FUNCTION: of its code, as the process has it: cc is a breakpoint.
first_byte() {
    at=$(nm "$manager" | sed -n "s/ T $2\$//p")
    base=$(sed -n '1s/-.*//p' "/proc/$1/maps")
    dd if="/proc/$1/mem" bs=1 count=1 skip=$((0x$base + 0x$at)) 2> dd.err | od -An -tx1 | tr -d ' '
}

has_byte() {
    [ "$(first_byte "$1" "$2")" = "$3" ]
}

cat > object << 'EOF_'
ATTRIBUTE DEFINITION FOR OBJECT QueueManager
    size: queue.q_size;
    state: state;
    AT "queue_changed";
END ATTRIBUTE DEF
EOF_

# ---- a view that fires, and its receiver ----

cat > receiver.py << 'EOF_'
import socket
listener = socket.create_server(("127.0.0.1", 0))
listener.settimeout(120)
open("port.new", "w").write(str(listener.getsockname()[1]))
import os
os.rename("port.new", "port")
connection, _ = listener.accept()
with open("received", "wb") as file:
    while data := connection.recv(65536):
        file.write(data)
EOF_
python3 receiver.py &
receiver=$!
wait_for 30 test -e port
{ cat object; cat << EOF_; } > full.view
VIEW DEF Full (size: QueueManager.size)
    ACTIVE WHEN (QueueManager.size >= 15);
    CORRECT TO WITHIN 25 MSEC;
    NOTIFY $(cat port) OF operator@127.0.0.1 WITHIN 60 S;
END VIEW DEF
VIEW DEF There (size: QueueManager.size)
    ACTIVE WHEN QueueManager.size >= 0;
    NOTIFY COMMAND "cat >> commanded" WITHIN 60 S;
END VIEW DEF
EOF_
mkfifo orders
"$dpm" view --json --object QueueManager=$called --save run.db run full.view -- \
    "$manager" --log log < orders > manager.out 2> err &
monitor=$!
exec 9> orders
check "a view sees the value at the beginning" wait_for 30 has_line manager.out '"There","change":"active"'
for line in '+ 20' '- 10' '+ 10' '- 20' '+ 100' '- 100'; do
    order manager "$line"
done
echo quit >&9
exec 9>&-
wait $monitor
check_equal "the exit status is the command's" 0 $?
wait $receiver
grep -v '^ok' manager.out | sed 's/ok [0-9]*$//' > lines
# truth: the program's own account
upward() {
    awk -v most=15 '$1 >= most && before < most { print $1 } { before = $1 }' log
}
check_equal "a row is active at each upward crossing, no more and no less" "$(upward)" \
    "$(jq -r 'select(.view == "Full" and .change == "active") | .values.size | round' lines)"
check_equal "... the receiver was notified of each" "$(upward)" "$(jq -r '.values.size' received)"
check_equal "... in one line of JSON each" 'Full' "$(jq -r '.view' received | sort -u)"
check_equal "every value above the threshold is seen, in order" "$(awk '$1 >= 15' log)" \
    "$(jq -r 'select(.view == "Full" and .change != "inactive") | .values.size | round' lines)"
check_equal "sensors see each change: both views have one" $((2 * $(wc -l < log))) \
    "$(jq -r 'select(.end) | .end.hits' lines)"
check_equal "... the condition of one is evaluated in the kernel" true \
    "$(jq -r 'select(.end) | .end | .refused > 0 and .records + .refused == .hits and .lost == 0' lines)"
check_equal "... and each notification is counted" '1 1 0,3 3 0' \
    "$(jq -r 'select(.end) | .end.notifications | map("\(.queued) \(.sent) \(.dropped)") | sort | join(",")' lines)"
wait_for 30 test -s commanded
check_equal "a command gets a notification, too" 'There' "$(jq -r .view commanded)"
runs "the database" "$dpm" view sql run.db 'SELECT count(*) FROM QueueManager'
check_equal "... has the instance" 1 "$(tail -n 1 out)"

finish
