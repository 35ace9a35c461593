#!/bin/sh
# SPDX-License-Identifier: MIT
# queue_test.sh BUILD_FOLDER: a server that takes one millisecond for each request, and a client that sends them in
# bursts: how long and how many of them wait, by the server's own log and by the statistics. (queued_test.sh looks at each
# message.)
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/pairs.sh"

# The client logs when it has sent each request and how long that took; the server when it took it and how long the
# server waited. If the buffer holds only a few requests, the client waits, too: that is the case if a non-blocking send
# finds no buffer space.
cat > program.py << 'END'
import fcntl, os, pairs, socket, sys, time
kind, narrow, bursts, burst = sys.argv[1], len(sys.argv) > 2, 20, 15
size = 1000 if narrow else 100
if kind == "pipe":
    take, give = os.pipe()
    receive, send = lambda n: os.read(take, n), lambda b: os.write(give, b)
    if narrow:
        fcntl.fcntl(give, fcntl.F_SETPIPE_SZ, 4096)
else:
    client, server = pairs.pair("unix-stream" if kind == "unix" else kind)
    receive, send = server.recv, client.send
    if narrow:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
def set_blocking(may_wait):
    os.set_blocking(give, may_wait) if kind == "pipe" else client.setblocking(may_wait)
def is_full(request):
    try:
        set_blocking(False)
        send(request)
        return False
    except BlockingIOError:
        return True
    finally:
        set_blocking(True)
if os.fork() == 0:
    with open("sent", "w") as log:
        for _ in range(bursts):
            for _ in range(burst):
                request = b"r" * size
                full = narrow and is_full(request)
                begun = time.monotonic_ns()
                if full or not narrow:
                    send(request)
                now = time.monotonic_ns()
                print(now, now - begun, int(full), file=log)
            time.sleep(0.001 * burst * (1.2 if narrow else 2.5))
    os._exit(0)
times = []
for _ in range(bursts * burst):
    left, begun = size, time.monotonic_ns()
    while left > 0:
        left -= len(receive(left))
    times.append((time.monotonic_ns(), begun))
    end = time.monotonic_ns() + 1000000
    while time.monotonic_ns() < end:
        pass
with open("taken", "w") as log:
    for t, begun in times:
        print(t, t - begun, file=log)
os.wait()
END

# The program logs its events a little late, more so if it is preempted in between. From the logs: median of the waits
# (ns), the longest queue, the sum of the waits, that of the receives of the first request of a burst, for which the
# server waits, that of sends that found no buffer space, and the median of a send.
cat > account.py << 'END'
sent, sends, full = zip(*[[int(n) for n in l.split()] for l in open("sent")])
taken, receives = zip(*[[int(n) for n in l.split()] for l in open("taken")])
waits = sorted(t - s for s, t in zip(sent, taken))
events = sorted([(t, 1) for t in sent] + [(t, -1) for t in taken])
length = longest = 0
for _, step in events:
    length += step
    longest = max(longest, length)
print(waits[len(waits) // 2], longest, sum(waits), sum(receives[::15]), sum(t for t, f in zip(sends, full) if f), sorted(sends)[len(sends) // 2])
END
# median COLUMN: of the ratios of result to log, over the three runs.
median() {
    sort -k "$1,$1g" compared | awk -v column="$1" 'NR == 2 { print $column }'
}
# near COLUMN: within 5 %.
near() {
    median "$1" | awk '{ exit !($1 > 0.95 && $1 < 1.05) }'
}
for kind in tcp udp unix pipe; do
    : > compared
    : > counted
    for run in 1 2 3; do
        rm -rf queue.trace
        "$dpm" run -o queue.trace --kinds $kind -- python3 program.py $kind > out 2> err
        check_equal "$kind, run $run: the program runs" 0 $?
        "$dpm" stats --json queue.trace > stats.json 2> stats.err
        jq -r '[.processes[] | select(.message_wait_ns.count >= 300)][0] | "\(.message_wait_ns.p50) \(
            .queue.messages_max) \(.message_wait_ns.mean * .message_wait_ns.count) \(
            .queue.messages_mean)"' stats.json > found
        jq '.trace.duration_ns, ([.pairs[] | select(.messages == 300)][0] |
            (.receiver_wait_ns.mean * .receiver_wait_ns.count), (.delivery_ns.p50 // 0))' stats.json |
            paste -s -d ' ' | paste -d ' ' found - > all
        python3 account.py | paste -d ' ' all - |
            awk '{ print $1 / $8, $2 - $9, $3 / $10, $6 / $11, $4 * $5 / $10, $7 / $13 }' >> compared
        jq -r '"\([.pairs[] | select(.messages == 300).message_wait_ns.count][0]) \(
            [.processes[].queue.unreceived] | add)"' stats.json >> counted
    done
    check "$kind: half of the messages waited as long as the logs say" near 1
    check "$kind: the queue was as long" test "$(median 2 | tr -d -)" -le 1
    check "$kind: all waits together, and so the average length" near 3
    check "$kind: the server waited as long for them" near 4
    check "$kind: the average length is the sum of the waits, by the log, over the time (Little's law)" near 5
    case $kind in # data is in the queue when the sending call ends; other kinds have no separate message for it
    tcp | udp) check "$kind: half of the messages came before the call that sent them had ended, by the log" \
        sh -c "awk '{ exit !($(median 6) > 0 && $(median 6) < 1) }' compared" ;;
    esac
    check_equal "$kind: none was left over, none counted twice" "300 0" "$(sort -u counted)"
    echo "# $kind: found / logged, difference, found / logged: $(paste -s -d ';' compared)"
done

# ---- a sender that waits for buffer space ----

for kind in unix pipe; do
    : > compared
    for run in 1 2 3; do
        rm -rf queue.trace
        "$dpm" run -o queue.trace --kinds $kind -- python3 program.py $kind narrow > out 2> err
        check_equal "$kind with little room, run $run: the program runs" 0 $?
        "$dpm" stats --json queue.trace 2> stats.err | jq '.processes | max_by(.sent.bytes).sender_blocked_ns |
            .mean * .count' > found
        python3 account.py | paste -d ' ' found - | awk '{ print $1 / $6, $6 }' >> compared
    done
    check "$kind: the client waited for room as long as it says" near 1
    check "$kind: ... which is long" test "$(median 2)" -gt 50000000
    "$dpm" stats --json queue.trace > stats.json 2> stats.err
    check "$kind: ... so that the receiver is late" jq -e "$receiver_is_late" stats.json
    echo "# $kind with little room: found / logged, logged: $(paste -s -d ';' compared)"
done

# ---- a wait for the first message of a connection ----

# Each connection has one message, from the server, which makes the client wait for it; by the client's own log.
cat > first.py << 'END'
import os, socket, time
kind = os.environ["KIND"]
listener = socket.socket(socket.AF_INET if kind == "tcp" else socket.AF_UNIX)
listener.bind(("127.0.0.1", 0) if kind == "tcp" else "\0first-%d" % os.getpid())
listener.listen()
if os.fork() == 0:
    for _ in range(10):
        connection = listener.accept()[0]
        time.sleep(0.03)
        connection.send(b"welcome")
        connection.recv(10)
        connection.close()
    os._exit(0)
waited = 0
for _ in range(10):
    client = socket.socket(listener.family)
    client.connect(listener.getsockname())
    begun = time.monotonic_ns()
    client.recv(100)
    waited += time.monotonic_ns() - begun
    client.send(b"bye")
    client.close()
os.wait()
print(waited)
END
for kind in tcp unix; do
    rm -rf first.trace
    KIND=$kind "$dpm" run -o first.trace -- python3 first.py > waited 2> err
    check_equal "$kind: the client waited for each welcome as long as it says" 10 "$("$dpm" stats --json first.trace |
        jq --argjson waited "$(cat waited)" '[.pairs[].receiver_wait_ns | select(.count > 0 and
            (.mean * .count / $waited - 1 | fabs) < 0.05)][0].count')"
done

finish
