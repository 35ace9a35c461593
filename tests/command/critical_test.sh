#!/bin/sh
# SPDX-License-Identifier: MIT
# critical_test.sh BUILD_FOLDER: who is on the critical path, and what the report says of it, in programs with one built-in
# cause. Which process it is, and how much it has to do, is random.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/two_hosts.sh"
need_meter
need_programs jq python3
cd "$scratch" || exit 1

seed=${DPM_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
echo "# DPM_SEED=$seed"

# any FROM TO: a random number.
any() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    echo $(($1 + seed / 65536 % ($2 - $1 + 1)))
}

# holds NAME FILE FILTER
holds() {
    check "$1" jq -e "$3" "$2"
}

# report_of TRACE: its report as report.json and report.txt.
report_of() {
    "$dpm" report --json "$1" > report.json
    "$dpm" report "$1" > report.txt
    sed -n '/^What was found$/,/^$/p' report.txt | tr -s ' \n' ' ' > found
}

# ---- a service and a helper that only sleeps ----

work=$(any 3 12)
cat > server.py << 'END'
import socket, sys, threading, time
def helper():
    while True:
        time.sleep(0.05) # each time the main thread hands it the interpreter's lock, and waits a moment for it
threading.Thread(target=helper, daemon=True).start()
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(threading.get_native_id(), flush=True)
peer, _ = listener.accept()
while peer.recv(10):
    end = time.thread_time() + int(sys.argv[2]) / 1000
    while time.thread_time() < end: pass
    peer.send(b"a")
END
cat > client.py << 'END'
import socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.send(b"q")
server.recv(10)
open("client.ready", "w").close()
while True:
    server.send(b"q")
    server.recv(10)
END
cat > idle.py << 'END'
import time
open("idle.ready", "w").close()
while True:
    time.sleep(0.1)
END
port=$(free_port)
python3 server.py "$port" "$work" > server.out 2> server.err &
server=$!
wait_for 30 test -s server.out
python3 client.py "$port" 2> client.err &
client=$!
python3 idle.py &
idler=$!
for part in client idle; do # on a busy machine an interpreter may need longer to start than the recording lasts
    wait_for 30 test -e $part.ready
done
"$dpm" acquire --kinds tcp -o idle.trace --pid $server --pid $client --pid $idler --duration 1s > acquired.txt 2>&1
kill $client $idler $server
wait $client $idler $server 2> ended
report_of idle.trace
cp report.json idle.json
holds "a helper that only sleeps is not the critical path" idle.json \
    ".path | .ends == \"work\" and .outside_ns < 0.1 * .path_ns and .path_ns == .cpu_ns + .delay_ns + .outside_ns"
holds "... the server is" idle.json \
    "[.path.processes[] | select(.pid == $server)][0].path_cpu_ns > 0.8 * .path.cpu_ns"
holds "... the helper has no part of it, and may take any time" idle.json \
    "[.path.processes[] | select(.pid == $idler)][0] | .path_cpu_ns == 0 and .path_outside_ns == 0 and .slack_ns == null"
holds "... what is said first of the path names the server" idle.json \
    "([.findings[] | select(.kind == \"critical\")][0].text | contains(\"[$server]\") and (contains(\"processes\") | not)) and
     ([.findings[] | select(.kind == \"path_waits\")] | length == 0)"
holds "... its CPU time is the share of the elapsed time" idle.json \
    "[.findings[] | select(.kind == \"critical\")][0] as \$first | .statistics.processes[\$first.processes[0]].pid == $server and
     (\$first.share - \$first.ns / .path.elapsed_ns | fabs) < 0.001"
holds "t_max is that of the whole graph" idle.json '.path.tmax_ns >= .path.path_ns and .path.P == null and
    ([.parallelism.rows[] | select(.step == "max")][0].tmax_ns == .path.tmax_ns)'
"$dpm" path --json --longest idle.trace > whole.json
holds "the longest path of the whole graph is there for those who ask" whole.json \
    '.ends == "longest" and .path_ns == .tmax_ns'
check_not "what explains nothing is not said at first" grep -q -e 'Silent' -e 'Idle ' -e 'created' found
check_not "... nor at the end of the recording" grep -q -e '^Silent' -e '^Idle' -e '^Created' acquired.txt
"$dpm" report --all idle.trace > all.txt
check "... but to those who ask for all" grep -q '^Silent' all.txt
holds "findings are sorted by the share of the elapsed time" idle.json \
    '[.findings[] | select(.aside | not) | select(.kind != "elapsed") | .share // 0] | . == (sort | reverse)'
holds "... each has its figures" idle.json \
    'all(.findings[]; (.kind | length) > 0 and .kind != "other" and has("share") and has("ns") and (.processes | type) == "array")'
holds "... none exceeds everything" idle.json 'all(.findings[]; .share == null or (.share >= 0 and .share <= 1))'

# ---- one of many items ----

slow=$(any 2 7)
cat > item.sh << 'END'
#!/bin/sh
n=1 size=300000
[ "$1" != "$2" ] || n=6 size=9000000
i=0
while [ $i -lt $n ]; do head -c $size /dev/zero | gzip -9 | wc -c > size.$1; i=$((i + 1)); done
END
chmod +x item.sh
# shellcheck disable=SC2016
"$dpm" run --kinds pipe -o items.trace --report none -- sh -c 'seq 8 | xargs -P 2 -I ITEM ./item.sh ITEM "$1"' sh "$slow" > said
report_of items.trace
holds "the path ends with the command" report.json '.path.ends == "command"'
check "which of eight items is slow (item $slow)" grep -q \
    "item.sh $slow $slow\[[0-9]*\] and the processes that it created carry [0-9]*% of the critical path" found
holds "... it is the carrier in figures" report.json '.path.carrier as $carrier | $carrier.alone == false and
    .path.processes[$carrier.process].name == "item.sh" and $carrier.path_cpu_ns >= 0.7 * .path.cpu_ns'
cat > burn.py << 'END'
import os, sys, time
end = time.process_time() + (0.3 if sys.argv[1] == os.environ["HEAVY"] else 0.01)
while time.process_time() < end: pass
END
python=$(python3 -c 'import sys; print(sys.executable)')
# shellcheck disable=SC2016
HEAVY=$(echo a b c d | cut -d ' ' -f "$(any 1 4)").input "$dpm" run --kinds pipe -o files.trace --report none -- sh -c '
    for file in a b c d; do "$1" burn.py "$file.input" -a-long-option-that-all-of-them-have=and-its-value & done; wait' \
    sh "$python" > said
report_of files.trace
heavy=$(jq -r '.statistics | [.processes[] | select(.command != null and (.command | test("burn.py")))] | max_by(.cpu_ns) |
    "\(.pid) \(.command)"' report.json)
word=$(echo "$heavy" | grep -o '[a-d]\.input' | head -n 1)
check "of four programs of one name, that with most work is named, by the word that only it has: $word" grep -q \
    "\[${heavy%% *}\] ($word) carries [0-9]*% of the critical path" found

# ---- an uneven pool: the program itself says which worker has the most to do ----

chunk=$(any 0 3)
cat > pool.py << 'END'
import os, sys, time
for i in range(4):
    if os.fork() == 0:
        if i == int(sys.argv[1]):
            print(os.getpid(), flush=True)
        end = time.process_time() + (0.4 if i == int(sys.argv[1]) else 0.02)
        while time.process_time() < end: pass
        os._exit(0)
for i in range(4):
    os.wait()
END
"$dpm" run --kinds pipe -o pool.trace --report none -- "$python" pool.py "$chunk" > heavy
report_of pool.trace
check "of a pool only the worker with the heavy chunk is named" grep -q \
    "\[$(cat heavy)\] carries [0-9]*% of the critical path" found
check_not "... not all together" grep -q 'processes are on the critical path' found

# ---- a process that does not answer: it computes, or was stopped ----

burst=$(any 80 130) # four of them are more than the 5 % of the elapsed time below which nothing is said
cat > busy.py << 'END'
# busy.py MS: five clients; one answer in twenty takes MS of CPU time, and on a busy machine so much more that two others ask
# meanwhile (as long as there are more than two).
import os, selectors, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
for i in range(5):
    if os.fork() == 0:
        server = socket.create_connection(listener.getsockname())
        for k in range(16):
            server.send(b"q")
            server.recv(10)
            time.sleep(0.005)
        os._exit(0)
selector = selectors.DefaultSelector()
for i in range(5): # all of them, before the first answer
    selector.register(listener.accept()[0], selectors.EVENT_READ)
left, count = 5, 0
print(os.getpid(), flush=True)
while left:
    for key, _ in selector.select():
        if not key.fileobj.recv(10):
            selector.unregister(key.fileobj)
            left -= 1
        else:
            count += 1
            end = time.thread_time() + (int(sys.argv[1]) / 1000 if count % 20 == 10 else 0)
            while time.thread_time() < end or (count % 20 == 10 and left > 2 and len(selector.select(0)) < 2): pass
            key.fileobj.send(b"a")
END
"$dpm" run --kinds tcp -o busy.trace --report none -- "$python" busy.py "$burst" > pid
report_of busy.trace
if jq -e ".path.elapsed_ns < 15 * 4 * ${burst}000000" report.json > quick; then
    holds "a server that computes $burst ms while messages wait is found" report.json "
    .statistics.processes as \$processes | [.findings[] | select(.kind == \"busy_while_messages_waited\")] | length > 0 and
    (.[0] | \$processes[.processes[0]].pid == $(cat pid) and .ns >= ${burst}000000)"
    check "... how long at a stretch, and how many messages" grep -q \
        "\[$(cat pid)\] computed up to [0-9.]* ms at a stretch.* while up to [2-9] messages came" found
else
    skip "a server that computes $burst ms while messages wait is found" "the busy machine delayed all else far more"
fi
cat > stop.py << 'END'
import os, signal, sys, time
child = os.fork()
if child == 0:
    while True:
        time.sleep(0.02)
print(os.getpid(), child, flush=True)
time.sleep(0.1)
os.kill(child, signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED) # it stops when it gets a processor
time.sleep(int(sys.argv[1]) / 1000)
os.kill(child, signal.SIGCONT)
time.sleep(0.1)
os.kill(child, signal.SIGKILL)
os.wait()
END
pause=$(any 200 500)
"$dpm" run --kinds pipe -o stop.trace --report none -- "$python" stop.py "$pause" > pids
read -r parent child < pids
report_of stop.trace
holds "a process that a signal stops for $pause ms is found" report.json \
    "[.findings[] | select(.kind == \"stopped\")][0].ns | . >= $((pause - 5))e6 and . < ($pause + 2000) * 1e6"
check "... and who sent the signal" grep -q "\[$child\] was stopped by SIGSTOP for .* sent by python3*[0-9.]*\[$parent\]" found

# ---- the picture: the same waits, in read and in epoll ----

waits=$(any 3 6)
cat > waits.py << 'END'
import os, select, sys, time
reads, writes = os.pipe()
if os.fork() == 0:
    os.close(writes)
    if sys.argv[1] == "epoll":
        epoll = select.epoll()
        epoll.register(reads, select.EPOLLIN)
    elif sys.argv[1] == "poll":
        poll = select.poll()
        poll.register(reads, select.POLLIN)
    while True:
        if sys.argv[1] == "epoll":
            epoll.poll()
        elif sys.argv[1] == "poll":
            poll.poll()
        elif sys.argv[1] == "select":
            select.select([reads], [], [])
        if not os.read(reads, 10):
            os._exit(0)
for i in range(int(sys.argv[2])):
    time.sleep(.4 if i == 0 else .04) # the child begins some time after its parent
    os.write(writes, b"x")
time.sleep(.04)
os.close(writes)
os.wait()
END
calls='read epoll'
! long_ones || calls='read epoll poll select'
for call in $calls; do
    "$dpm" run --kinds pipe -o "$call.trace" --report none -- "$python" waits.py $call "$waits" > said
    "$dpm" graph -o $call.svg "$call.trace"
    # a wait is shorter if the child was late before
    check_equal "waits of 40 ms in $call are drawn" "$waits" "$(grep -o '<title>waits for a[^<]* until' $call.svg |
        grep -v processor | sed 's/.* for \([0-9.]* [a-z]*\), until/\1/' |
        awk '($2 == "ms" && $1 >= 15) || $2 == "s"' | wc -l | awk -v most="$waits" '{ print ($1 > most ? most : $1) }')"
done
long_ones || skip "waits of 40 ms in poll and select are drawn" "takes long: only with ./dev test --all"
check_equal "the legend has each kind of wait" 6 "$(sed -n '/<g id="legend">/,/^<\/g>/p' epoll.svg | grep -c '<rect class="wait[0-5]"')"

# ---- a slow network: a program passes the packets on, later ----

trips=40
delay=$(any 10 25)
cat > slow_network.py << 'END'
# slow_network.py DELAY_MS NAMESPACE ADDRESS NAMESPACE ADDRESS: a tunnel between two hosts.
import fcntl, heapq, os, select, struct, subprocess, sys, time
delay, hosts = int(sys.argv[1]) / 1000, sys.argv[2:]
tunnels = []
for i in range(2):
    tunnel = os.open("/dev/net/tun", os.O_RDWR)
    name = "slow%d-%d" % (i, os.getpid() % 10000)
    fcntl.ioctl(tunnel, 0x400454ca, struct.pack("16sH22x", name.encode(), 0x1001))
    for command in ("link set %s netns %s" % (name, hosts[2 * i]),
                    "-n %s addr add %s/24 dev %s" % (hosts[2 * i], hosts[2 * i + 1], name),
                    "-n %s link set %s up" % (hosts[2 * i], name)):
        subprocess.run(["ip"] + command.split(), check=True)
    tunnels.append(tunnel)
open("network.ready", "w").close()
waiting = []
stop = time.monotonic() + 60
while time.monotonic() < stop:
    left = max(0, waiting[0][0] - time.monotonic()) if waiting else 1
    for tunnel in select.select(tunnels, [], [], left)[0]:
        packet = os.read(tunnel, 70000)
        heapq.heappush(waiting, (time.monotonic() + delay, len(waiting), tunnels[1 - tunnels.index(tunnel)], packet))
    while waiting and waiting[0][0] <= time.monotonic():
        _, _, tunnel, packet = heapq.heappop(waiting)
        os.write(tunnel, packet)
END
cat > far_server.py << 'END'
import socket
listener = socket.create_server(("10.83.7.2", 7000))
open("server.ready", "w").close()
peer, _ = listener.accept()
while data := peer.recv(100):
    peer.send(data)
END
cat > far_client.py << 'END'
import socket, sys
server = socket.create_connection(("10.83.7.2", 7000))
for i in range(int(sys.argv[1])):
    server.send(b"ask")
    server.recv(100)
END
network=
leave_hosts() { [ -z "$network" ] || kill "$network" 2> "$scratch/kill.err"; }
if [ ! -c /dev/net/tun ] || ! command -v ip > where; then
    skip "a slow network" "it needs /dev/net/tun and ip"
    finish
fi
two_hosts 10.83.8
"$python" slow_network.py "$delay" "$here" 10.83.7.1 "$there" 10.83.7.2 > network.out 2>&1 &
network=$!
if ! wait_for 30 test -e network.ready; then
    skip "a slow network" "$(tail -n 1 network.out)"
    finish
fi
ip netns exec "$there" "$dpm" run -o far_server.trace --kinds tcp,udp -- "$python" far_server.py > far_server.out 2>&1 &
far_server=$!
wait_for 30 test -e server.ready
ip netns exec "$here" "$dpm" run -o far_client.trace --kinds tcp,udp -- "$python" far_client.py $trips > far_client.out 2>&1
wait $far_server
"$dpm" report --json far_client.trace far_server.trace > report.json
"$dpm" path far_client.trace far_server.trace | tr -s ' \n' ' ' > path.txt
least=$((2 * trips * delay * 1000000))
holds "messages on the path were in flight for $((least / 1000000)) ms, as the network made them" report.json \
    ".path.in_flight_ns >= 0.9 * $least and .path.in_flight_ns <= .path.elapsed_ns and
     ([.path.arcs[].in_flight_ns] | add) == .path.in_flight_ns"
holds "... and with the path's own length no longer than what elapsed" report.json \
    '.path | .in_flight_ns + .path_ns <= 1.02 * .elapsed_ns'
holds "... the report says so if it is much of what elapsed, a fifth" report.json '
    .path as $path | ($path.in_flight_ns / $path.elapsed_ns) as $share | [.findings[] | select(.kind == "path_in_flight")] |
    if $share < 0.2 then length == 0 else length == 1 and (.[0].share - $share | fabs) < 0.001 and
        (.[0].text | contains("faster CPUs will not help")) end'
holds "faster processes would save no more than they compute" report.json '. as $all |
    all(.findings[] | select(.kind == "critical"); .share <= 1 - $all.path.in_flight_ns / $all.path.elapsed_ns + 0.01 and
        ((.text | capture("would take <?(?<less>[0-9.]+)% less").less | tonumber) <= 50 * .share + 1))'
check "dpm path says so, too" grep -q 'Messages on it were in flight for .* as recorded, [0-9.]*% of the elapsed' path.txt
finish
