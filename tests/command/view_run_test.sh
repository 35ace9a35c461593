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

# ---- a receiver that is not there; several instances; the monitor is killed ----

dead=$(free_port) # the kernel gives it to nobody
{ cat object; cat << EOF_; } > each.view
VIEW DEF Each (size: QueueManager[*].size, state: QueueManager[*].size + 0)
    ACTIVE WHEN QueueManager[*].size > 2;
    NOTIFY $dead OF 127.0.0.1 WITHIN 1 MS;
END VIEW DEF
VIEW DEF There (size: QueueManager[*].size) ACTIVE WHEN QueueManager[*].size >= 0; END VIEW DEF
VIEW DEF Second (size: QueueManager[2].size) ACTIVE WHEN QueueManager[2].size > 2; END VIEW DEF
EOF_
mkfifo first second
"$manager" --log first.log < first > first.out &
one=$!
exec 8> first
"$dpm" view --json --object QueueManager=$called run each.view > each.json 2> err &
monitor=$!
wait_for 30 has_line each.json "$called $one\",\"change\":\"active"
"$manager" --log second.log < second > second.out &
two=$!
exec 9> second
wait_for 30 has_line each.json "$called $two\",\"change\":\"active"
order second '+ 3'
wait_for 30 has_line each.json '"Second","change":"active"'
check "an instance that starts later has its row, and its number" wait_for 30 has_line each.json \
    "\"Each\",\"row\":\"$called $two\",\"change\":\"active\""
check_not "... others are not concerned" has_line each.json "\"Each\",\"row\":\"$called $one\""
kill -INT $monitor
wait $monitor
check_equal "a signal ends it" 0 $?
check_equal "a dead receiver is noted" 1 \
    "$(grep -c "^dpm: note: 127.0.0.1 port $dead: Connection refused; trying again" err)"
check_equal "a dead receiver is counted, and blocks nothing" '0 1' \
    "$(jq -r 'select(.end) | .end.notifications[0] | "\(.sent) \(.dropped)"' each.json)"

"$dpm" view --object QueueManager=$two run each.view > killed.out 2> err &
monitor=$!
wait_for 30 has_line killed.out "Each\\[$called $two\\]  active"
kill -9 $monitor
wait $monitor 2> /dev/null
order second '+ 1000'
echo quit >&9
exec 9>&-
wait $two
check_equal "the monitor is killed with kill -9: the program goes on to its end" 0 $?
check_equal "... and its own account is complete" 1003 "$(wc -l < second.log)"
sed 's/queue.q_size/queue.size/' full.view > member.view
: > err
"$dpm" view --object QueueManager=$one run member.view > out 2> err &
monitor=$!
wait_for 30 has_line err 'view Full: '
kill $monitor
wait $monitor
check "a member that the program does not have is a note, with its place" \
    has_line err "note: view Full: QueueManager, process $one: member.view:2:"
echo quit >&8
exec 8>&-
wait $one

# ---- requests to a running monitor ----

{ cat object; cat << EOF_; } > control.view
VIEW DEF Long (size: QueueManager.size) ACTIVE WHEN QueueManager.size >= 15; END VIEW DEF
VIEW DEF There (size: QueueManager.size) ACTIVE WHEN QueueManager.size >= 0; END VIEW DEF
EOF_
mkfifo fourth
"$manager" --log fourth.log < fourth > fourth.out &
program=$!
exec 9> fourth
wait_for 30 grep -q $called "/proc/$program/maps"
clean=$(first_byte $program queue_changed)
: > lines
"$dpm" view --json --object QueueManager=$called --control socket run control.view > lines 2> err &
monitor=$!
wait_for 30 has_line lines '"There"'
ask() {
    "$dpm" view control socket "$@" 2>&1
}
check_equal "the socket is the user's own" 600 "$(stat -c %a socket)"
order fourth '+ 17'
wait_for 30 has_line lines '"Long","change":"active"'
check_equal "the database has the value that a view shows, with its place" "17 $program" \
    "$(ask value QueueManager.size | jq -r '"\(.value | round) \(.pid)"')"
check_equal "the rows of views" '[{"active":true,"values":{"size":17}}]' \
    "$(ask views | jq -c '[.[] | select(.view == "Long") | .rows[] | .values.size |= round]')"
check_equal "a threshold is changed: the view is inactive" "" "$(ask threshold Long 1 20)"
wait_for 30 has_line lines '"Long","change":"inactive"'
order fourth '+ 3'
wait_for 30 has_line lines '"Long","change":"active".*20'
check_equal "... and active at the new one" 2 "$(grep -c '"Long","change":"active"' lines)"
check_equal "a lower threshold counts for the value that is there" "" "$(ask threshold Long 1 30; ask threshold Long 1 18)"
wait_for 30 sh -c '[ "$(grep -c "\"Long\",\"change\":\"active\"" lines)" = 3 ]'
check_equal "the sensors are switched off" "" "$(ask sensor Long off; ask sensor There off)"
order fourth '- 10'
check_equal "... a probe reads the value" 10 "$(ask probe QueueManager.size | jq '.value | round')"
check_equal "... the views see nothing" 0 "$(ask views | jq '[.[].rows[] | select(.active)] | length')"
check_equal "... and on" "" "$(ask sensor Long on; ask sensor There on)"
wait_for 30 has_line lines '"There".*"active".*10'
check_equal "a wrong view" 'dpm: there is no view '"'Other'" "$(ask sensor Other on)"
check_equal "a wrong attribute" 'dpm: QueueManager.none: there is no such instance, or no view speaks of it' "$(ask probe QueueManager.none)"
printf 'nonsense\n{"id": 2, "method": "nothing"}\n' > nonsense
check_equal "nonsense is refused, line by line" 2 "$(python3 -c '
import socket
end = socket.socket(socket.AF_UNIX)
end.connect("socket")
end.sendall(open("nonsense", "rb").read())
lines = end.makefile()
print(sum("error" in lines.readline() for _ in range(2)))')"
long_is() {
    [ "$(ask views | jq '[.[] | select(.view == "Long") | .rows[].values.size // 0][0] | round')" = "$1" ]
}
# an adaptation controller, with half of a request on its way, is killed
cat > adapter.py << 'EOF_'
import socket, time
end = socket.socket(socket.AF_UNIX)
end.connect("socket")
end.sendall(b'{"id": 1, "method": "threshold", "params": {"view": "Long", "constant": 1, "value": 12}}\n{"id": 2, "met')
answer = end.makefile().readline()
open("adapted", "w").write(answer)
time.sleep(600)
EOF_
python3 adapter.py &
adapter=$!
wait_for 30 test -s adapted
kill -9 $adapter
wait $adapter 2> killed.err
order fourth '+ 5'
check "an adaptation controller is killed with kill -9: the monitor goes on" wait_for 30 long_is 15
check_equal "... a breakpoint is in the program" cc "$(first_byte $program queue_changed)"
kill -9 $monitor
wait $monitor 2> killed.err
check "... and the monitor, too: the breakpoint is gone" wait_for 30 has_byte $program queue_changed "$clean"

# ---- processes that are brief ----

{ cat object; echo 'VIEW DEF There (size: QueueManager[*].size) ACTIVE WHEN QueueManager[*].size >= 0; END VIEW DEF'; } > brief.view
cat > brief.sh << 'EOF_'
for i in 1 2 3 4 5 6 7 8 9 10; do
    printf '+ 3\nquit\n' | "$1" --log brief.log > brief.out
done
EOF_
# whether the sensors have all three changes of each process that is not counted, and none of one that is counted as unseen
is_account='.late_starts + .unseen <= 10 and .hits >= 3 * (10 - .late_starts - .unseen) and .hits <= 3 * (10 - .unseen)'
"$dpm" view --json --object QueueManager=$called run brief.view -- sh brief.sh "$manager" > lines 2> err
check_equal "each that ran unseen for a moment, or ended before, is counted; the others have sensors from the beginning" \
    "3 true" "$(wc -l < brief.log) $(jq -c "select(.end) | .end | if $is_account then true else . end" lines)"
"$dpm" view --json --object QueueManager="$manager" run brief.view -- sh brief.sh "$manager" > lines 2> err
check_equal "... all of them, if the path of the program is given" "0 30" \
    "$(jq -r 'select(.end) | .end | "\(.late_starts + .unseen) \(.hits)"' lines)"

# ---- what is not there, or not of that kind ----

{ cat object; echo 'VIEW DEF None (size: QueueManager[7].size) ACTIVE WHEN QueueManager[7].size > 1; END VIEW DEF
VIEW DEF Text (size: QueueManager.size) ACTIVE WHEN QueueManager.size > "x"; END VIEW DEF'; } > wrong.view
"$dpm" view --for 2s --object QueueManager=$program run wrong.view 2> err
check "an instance that is not there is waited for, and that is said" \
    grep -qx 'dpm: note: view None: waiting for QueueManager\[7\]: QueueManager has 1 instance so far' err
check "a number that is compared with a text is refused, with its type" \
    grep -q 'wrong.view:7:[0-9]*: size is a number (.*): it cannot be compared with a text' err
fails "the monitor is gone" 1 'socket: no monitor listens there: Connection refused' "$dpm" view control socket views
fails "a wrong request" 2 'view: control: give the socket' "$dpm" view control socket sensor
echo quit >&9
exec 9>&-
wait $program
check_equal "... the program's account is complete" 35 "$(wc -l < fourth.log)"

# ---- figures of DPM's own objects, together with variables; acts of an adaptation ----

act=$here/../../examples/issos/act.sh
cgroups=/sys/fs/cgroup
[ -e $cgroups/cgroup.controllers ] || cgroups=$cgroups/cpu
mkfifo fifth
"$manager" --log fifth.log < fifth > fifth.out &
program=$!
exec 9> fifth
python3 "$here/figures_account.py" spin > spin.log &
spin=$!
kill -STOP $spin # until the monitor is there
trap 'kill -9 $spin 2> kill.err; rm -rf "$scratch"' EXIT
acts="cat > line; env > given; sh $act nice \$DPM_VALUE_pid 7; sh $act move \$DPM_VALUE_pid 0; "
acts="$acts sh $act limit \$DPM_VALUE_pid 20; sh $act start 'env > started.new; mv started.new started'"
{ cat object; cat << EOF_; } > mixed.view
VIEW DEF Busy (cpu: process[$spin].cpu, state: process[$spin].state) ACTIVE WHEN process[$spin].cpu >= 0; END VIEW DEF
VIEW DEF Here (cpu: machine.cpu, load: machine.job-load) ACTIVE WHEN machine.cpu > 0 AND machine.processes > 1; END VIEW DEF
VIEW DEF Net (traffic: subnet["127.0.0.0/8"].traffic) ACTIVE WHEN subnet["127.0.0.0/8"].traffic > 0; END VIEW DEF
VIEW DEF Each (cpu: process[*].cpu) ACTIVE WHEN process[*].cpu >= 0; END VIEW DEF
VIEW DEF Mixed (queue-size: QueueManager.size, pid: process[$spin].Process-Id)
    ACTIVE WHEN process[$spin].cpu > 0.001 AND QueueManager.size >= 3;
    CORRECT TO WITHIN 10 S;
    NOTIFY COMMAND "$acts" WITHIN 1 S;
END VIEW DEF
EOF_
# answers that no socket takes at once: 40 views with 60 values, which have long names
awk -v name=a-value-with-a-name-that-has-nearly-as-many-letters-as-can-be 'BEGIN {
    for (view = 1; view <= 40; view++) {
        printf "VIEW DEF Wide%d (", view
        for (value = 1; value <= 60; value++)
            printf("%s%s%d: process[*].Process-Id", (value > 1 ? ", " : ""), name, value)
        print ") ACTIVE WHEN process[*].cpu >= 0; END VIEW DEF"
    }
}' >> mixed.view
python3 "$here/figures_account.py" totals > before
: > lines
"$dpm" view --json --every 200ms --control wide --object QueueManager=$called --object "process=$spin,$program" \
    run mixed.view > lines 2> err &
monitor=$!
wait_for 30 has_line lines "\"Each\",\"row\":\"$called $program\""
kill -CONT $spin
python3 "$here/figures_account.py" send
wait_for 30 has_line lines '"Net","change":"active"'
wait_for 30 sh -c '[ "$(grep -c "\"Busy\"" lines)" -ge 4 ] && [ "$(grep -c "\"Here\"" lines)" -ge 4 ]'
wait_for 30 has_line lines '"Wide40","row":"python3'
check_equal "long answers are whole, for a client that asks before it reads" '1 2 3 True' "$(python3 -c '
import json, socket
end = socket.socket(socket.AF_UNIX)
end.connect("wide")
end.sendall(b"".join(b"{\"id\": %d, \"method\": \"views\"}\n" % number for number in (1, 2, 3)))
lines = end.makefile()
answers = [lines.readline() for _ in range(3)]
print(*(json.loads(answer)["id"] for answer in answers), all(len(answer) > 300000 for answer in answers))
')"
check_not "a figure alone is not enough for a view that needs a variable, too" has_line lines '"Mixed"'
order fifth '+ 3'
wait_for 30 test -e started
check_equal "it is active with both, and its command has the values" "Mixed 3 $spin" \
    "$(for name in VIEW VALUE_queue_size VALUE_pid; do sed -n "s/^DPM_$name=//p" given; done | xargs)"
check_equal "... as its standard input has" "3 $spin" "$(jq -r '.values | "\(."queue-size") \(.pid)"' line)"
check_equal "an act gives it a nice value" 7 "$(cut -d ')' -f 2 "/proc/$spin/stat" | cut -d ' ' -f 18)"
check_equal "... moves it to a processor" 0 "$(sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' "/proc/$spin/status")"
if [ -e "$cgroups/dpm-$spin/cpu.max" ]; then
    check_equal "... limits it" '20000 100000' "$(cat "$cgroups/dpm-$spin/cpu.max")"
elif [ -e "$cgroups/dpm-$spin/cpu.cfs_quota_us" ]; then
    check_equal "... limits it" '20000 of 100000' "$(cat "$cgroups/dpm-$spin/cpu.cfs_quota_us") of $(cat "$cgroups/dpm-$spin/cpu.cfs_period_us")"
else
    skip "... limits it" "no cgroup can be made here"
fi
check "... and starts a process, which knows the view" grep -qx DPM_VIEW=Mixed started
kill -INT $monitor
wait $monitor
python3 "$here/figures_account.py" totals > after
kill -TERM $spin
wait $spin
rmdir "$cgroups/dpm-$spin" 2> rmdir.err
check_equal "figures are those of the process's own account, of /proc/stat and of /proc/net/dev" '' \
    "$(python3 "$here/figures_account.py" check lines spin.log before after)"
echo quit >&9
exec 9>&-
wait $program

# ---- a subject of NATS ----

if command -v nats-server > /dev/null; then
    port=$(free_port)
    nats-server -a 127.0.0.1 -p "$port" > nats.log 2>&1 &
    server=$!
    cat > subscriber.py << 'EOF_'
import socket, sys, time
until = time.monotonic() + 60
while True:
    try:
        connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
        break
    except OSError:
        if time.monotonic() > until:
            raise
connection.sendall(b"CONNECT {}\r\nSUB queue.full 1\r\nPING\r\n")
lines = connection.makefile("rb")
for line in lines:
    if line.startswith(b"PONG"):
        open("subscribed", "w").close()
    if line.startswith(b"MSG"):
        open("message", "wb").write(lines.readline())
        break
EOF_
    python3 subscriber.py "$port" &
    subscriber=$!
    wait_for 30 test -e subscribed
    { cat object; cat << EOF_; } > subject.view
VIEW DEF There (size: QueueManager.size) ACTIVE WHEN QueueManager.size >= 0;
    NOTIFY SUBJECT "queue.full" OF me@127.0.0.1:$port WITHIN 2 S;
END VIEW DEF
EOF_
    mkfifo third
    "$dpm" view --object QueueManager=$called run subject.view -- "$manager" < third > out 2> err &
    monitor=$!
    exec 9> third
    wait $subscriber
    check_equal "a subject of NATS gets a notification" There "$(jq -r .view message)"
    echo quit >&9
    exec 9>&-
    wait $monitor
    kill $server
    wait $server
else
    skip "a subject of NATS gets a notification" "nats-server is not installed"
fi

# ---- a signal while a host is being connected ----

if command -v nats-server > /dev/null; then
    mkdir home
    cat > slow_rsh << 'EOF_'
#!/bin/sh
: > connecting
exec sleep 300
EOF_
    chmod 755 slow_rsh
    echo 'VIEW DEF V (a: machine[*].cpu) ACTIVE WHEN machine[*].cpu >= 0; END VIEW DEF' > all.view
    HOME=$scratch/home XDG_STATE_HOME='' timeout --foreground 100 "$dpm" view --host web1 --rsh ./slow_rsh run all.view > out 2> err &
    monitor=$!
    wait_for 60 test -e connecting
    kill -TERM $monitor # timeout passes it on
    wait $monitor
    check_equal "a signal ends the connecting of hosts" "dpm: interrupted before the hosts were ready" "$(cat err)"
else
    skip "a signal ends the connecting of hosts" "nats-server is not installed"
fi

# ---- errors ----

echo 'VIEW DEF V (a: Q.n) ACTIVE WHEN Q.n > 1; END VIEW DEF' > none.view
fails "an object without attributes" 1 'none.view:1:16: there is no ATTRIBUTE DEFINITION FOR OBJECT Q' \
    "$dpm" view run none.view
{ cat object; echo 'VIEW DEF V (a: QueueManager.n) ACTIVE WHEN QueueManager.n > 1; END VIEW DEF'; } > wrong.view
fails "an attribute that is not defined" 1 'wrong.view:6:.*: object QueueManager has no attribute n' \
    "$dpm" view run wrong.view
echo 'VIEW DEF V (a: 1) ACTIVE WHEN process[*].sent > 1; END VIEW DEF' > sent.view
fails "a figure of messages" 1 'sent.view:1:31: process.sent is a figure of messages, which needs a meter: use dpm view watch' \
    "$dpm" view run sent.view
echo 'VIEW DEF V (a: Communicates-With["a","b"].queue) ACTIVE WHEN 1 < 2; END VIEW DEF' > pair.view
fails "... of a relationship" 1 'pair.view:1:16: Communicates-With.queue is a figure of messages' "$dpm" view run pair.view
echo 'VIEW DEF V (a: 1) ACTIVE WHEN machine.none > 1; END VIEW DEF' > figure.view
fails "a figure that there is not" 1 'figure.view:1:31: the built-in object machine has no attribute none' "$dpm" view run figure.view
echo 'VIEW DEF machine (a: 1) ACTIVE WHEN machine.cpu > 1; END VIEW DEF' > name.view
fails "a view with the name of a built-in object" 1 'name.view:1:1: view machine: this name is that of a built-in object' \
    "$dpm" view run name.view
echo 'VIEW DEF V (a: 1) ACTIVE WHEN machine.cpu > 1; END VIEW DEF' > machine.view
fails "programs of an object that has none" 1 'object machine: its instances are no processes' "$dpm" view --object machine=1 run machine.view
fails "an object that no view speaks of" 1 'object Other: no view speaks of it' \
    "$dpm" view --object Other=1 run full.view
fails "no program" 1 "object 'QueueManager=': give NAME=PROGRAM or NAME=PID" \
    "$dpm" view --object QueueManager= run full.view
fails "no view" 2 'view: run: give a file of views' "$dpm" view run
fails "a command that does not exist" 1 'no-such-program: cannot run it: No such file' "$dpm" view run full.view -- no-such-program
fails "... or an option that run does not take" 2 'view: watch does not take --object' \
    "$dpm" view --object Q=1 watch full.view alpha
finish
