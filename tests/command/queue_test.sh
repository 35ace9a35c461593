#!/bin/sh
# SPDX-License-Identifier: MIT
# queue_test.sh BUILD_FOLDER: a server that takes one millisecond for each request, and a client that sends them in
# bursts: how long and how many of them wait, by the server's own log and by the statistics. And one by one:
# MESSAGEQUEUED against the known contents of a queue.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
command -v python3 > /dev/null || skip_all "python3 is not installed"
cd "$scratch" || exit 1

# Two sockets of a kind, the sender first; for tcp-new the other one is a listener that has not accepted yet.
cat > pairs.py << 'END'
import socket
def pair(kind):
    if kind in ("tcp", "tcp-new"):
        listener = socket.create_server(("127.0.0.1", 0))
        sender = socket.create_connection(listener.getsockname())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sender, listener.accept()[0] if kind == "tcp" else listener
    if kind == "udp":
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("127.0.0.1", 0))
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.connect(receiver.getsockname())
        return sender, receiver
    types = {"unix-stream": socket.SOCK_STREAM, "unix-datagram": socket.SOCK_DGRAM,
        "unix-seqpacket": socket.SOCK_SEQPACKET}
    return socket.socketpair(socket.AF_UNIX, types[kind])
END

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

# For the pair that has sent most.
receiver_is_late='(.pairs | max_by(.bytes)) as $most |
    any(.late_receivers[]; .from == $most.from and .to == $most.to) and
    all(.late_senders[]; .from != $most.from or .to != $most.to)'

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

# ---- a message much longer than the queue ----

cat > long.py << 'END'
import os, pairs, time
client, server = pairs.pair("unix-stream")
if os.fork() == 0:
    server.close()
    client.sendall(b"l" * 4000000)
    os._exit(0)
client.close()
while server.recv(65536):
    time.sleep(0.004)
os.wait()
END
rm -rf long.trace
"$dpm" run -o long.trace -- python3 long.py > out 2> err
"$dpm" stats --json long.trace > long.json
check "who sends one long message is blocked, and the receiver late" jq -e "$receiver_is_late" long.json
check_equal "... whose queue was as long as the kernel says" \
    "$("$dpm" dump --json --type messagequeued long.trace | jq -s 'map(.queue) | max')" \
    "$(jq '[.processes[].queue.bytes_max] | max' long.json)"
check "... in the words of the report, too" sh -c "'$dpm' report long.trace | grep -q 'was blocked for .* while sending to'"

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

# ---- each message when it is queued ----

# Logs for each message its bytes and the contents of the queue then: in bytes, or in messages.
cat > one.py << 'END'
import pairs, sys, time
kind = sys.argv[1]
log = open("queued", "w")
streams = kind in ("tcp", "tcp-new", "unix-stream")
sender, receiver = pairs.pair(kind)
waiting = []
def send(*sizes):
    for size in sizes:
        sender.send(b"q" * size)
        waiting.append(size)
        print(size, sum(waiting) if streams else len(waiting), file=log)
        time.sleep(0.002)
def take(count):
    for _ in range(count):
        size = waiting.pop(0)
        assert len(receiver.recv(size)) == size
if kind != "tcp-new":
    send(30)
    take(1)
send(100, 200, 300, 400, 500)
if kind == "tcp-new":
    receiver = receiver.accept()[0]
take(2)
send(50, 60)
take(5)
send(70, 80)
END

# For each: bytes, queue, and whether it belongs to no stream and has the position at which it was sent.
cat > queued.jq << 'END'
map(select(.event == "SEND" and .bytes > 1)) as $sends |
(map(select(.event == "RECEIVE"))[0].path) as $path |
map(select(.event == "MESSAGEQUEUED")) as $queued |
$queued | to_entries[] | .value as $one |
$sends[.key + ($sends | length) - ($queued | length)] as $send |
"\($one.bytes) \($one.queue)\(if $one.pid == null and $one.path == $path and $one.offset == $send.offset
    then "" else " of another place" end)"
END
for kind in tcp tcp-new udp unix-stream unix-datagram unix-seqpacket; do
    rm -rf one.trace
    "$dpm" run -o one.trace --kinds all,-pipe -- python3 one.py $kind > out 2> err
    check_equal "$kind: the program runs" 0 $?
    "$dpm" dump --json one.trace | jq -r -s -f queued.jq > found
    case $kind in # the receiver of the first message was not in use yet
    unix*) sed -i 1d queued ;;
    esac
    check "$kind: each message is recorded when it is queued, with the contents of the queue" diff queued found
done

# Queued messages are recorded even if sends and receives are not; on a UNIX socket from its first use on.
cat > alone.py << 'END'
import pairs, sys
client, server = pairs.pair(sys.argv[1])
for _ in range(10):
    client.send(b"r" * 100)
    server.recv(100)
END
for kind in tcp udp unix-stream unix-seqpacket unix-datagram; do
    for flags in messagequeued receive,messagequeued; do
        rm -rf alone.trace
        "$dpm" run -o alone.trace --flags "$(echo $flags | tr , ' ')" -- python3 alone.py $kind > out 2> err
        "$dpm" dump --json alone.trace > alone.json 2> dump.err
        expected=10
        [ $kind = tcp ] || [ $kind = udp ] || expected=9
        check_equal "$kind, flags $flags: each message is recorded at its position, and nothing else" \
            "$expected true true" "$(jq -r -s --arg flags $flags '
            [.[] | select(.event == "MESSAGEQUEUED")] as $queued |
            [$queued[] | .offset - $queued[0].offset] as $places |
            ($queued[1].offset - $queued[0].offset) as $step |
            "\($queued | length) \($places == [range(0; $queued | length) | . * $step]) \(
                ([.[] | select(.event == "SEND")] == []) and
                (([.[] | select(.event == "RECEIVE" and .bytes == 100)] | length) ==
                    if $flags == "messagequeued" then 0 else 10 end))"' alone.json)"
    done
done
# What a receiver leaves behind when it ends waits no longer than it lives.
"$dpm" run -o left.trace -- sh -c 'head -c 40000 /dev/zero | head -c 10 > /dev/null; sleep 1' > out 2> err
"$dpm" stats --json left.trace > left.json
check "a mean is no larger than the largest" jq -e 'all(.processes[], .paths[]; .queue.messages_mean <= .queue.messages_max)' left.json
check "... of a receiver that leaves messages" jq -e 'any(.processes[]; .queue.unreceived > 0)' left.json
finish
