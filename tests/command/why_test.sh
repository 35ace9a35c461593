#!/bin/sh
# SPDX-License-Identifier: MIT
# why_test.sh BUILD_FOLDER: where the elapsed time went, in programs whose truth is known. Times on a busy machine may only
# be longer than they should, so what a program asked for is a lower bound, and the parts must add up.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs jq python3
cd "$scratch" || exit 1

# why_of COMMAND...: its accounting in why.json. Connections only of the kinds it uses: loading hooks takes longer than most of
# the commands.
kinds=pipe
why_of() {
    rm -rf why.trace
    "$dpm" run --meter "$meter" --kinds $kinds -o why.trace --report none -- "$@" > out 2> err || cat err
    "$dpm" why --json why.trace > why.json
}

# is_so FILTER
is_so() {
    jq -e "$1" why.json
}

# spent: the ms of each kind above 1 ms.
spent() {
    jq -c '[.spent_on_ns | to_entries[] | select(.value > 1e6) | "\(.key) \(.value / 1e6 | floor)"] | join(", ")' why.json
}

adds_up='([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns'

# Prints for how many ns it slept, by its own clock: a timer was waited for no longer,
# but for delays of less than 1 ms that dpm takes for a part of the wait.
cat > nap.py << 'END'
import sys, time
began = time.monotonic_ns()
time.sleep(float(sys.argv[1]))
print(time.monotonic_ns() - began)
END
if long_ones; then
    why_of sh -c 'python3 nap.py 0.2; python3 nap.py 0.1'
    check "two sleeps: $(spent)" is_so ".spent_on_ns.timer | . >= 299e6 and . <= $(jq -s add out) + 2e6"
    check "... each by its own process" is_so '[.rows[] | select(.spent_on == "timer")] | length == 2'
    check "... parts add up" is_so "$adds_up"
else
    skip "two sleeps" "takes long: only with ./dev test --all"
fi

# One sleeps longer than the other: only that one counts.
why_of sh -c 'python3 nap.py 0.1 & python3 nap.py 0.6 & wait'
check "two sleeps at once: $(spent)" is_so ".spent_on_ns.timer | . >= 599e6 and . <= $(jq -s max out) + 1e6"
check "... parts add up" is_so "$adds_up"
check "... for the command" is_so '.process == "sh" and .pid != null'

cat > ask.py << 'END'
# A server answers 5 requests, for each of which it sleeps 40 ms; prints for how many ns it did.
import os, socket, sys, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
if os.fork() == 0:
    peer, _ = server.accept()
    slept = 0
    for _ in range(5):
        peer.recv(100)
        began = time.monotonic_ns()
        time.sleep(0.04)
        slept += time.monotonic_ns() - began
        peer.send(b"answer")
    print(slept, flush=True)
    os._exit(0)
client = socket.socket()
client.connect(server.getsockname())
for _ in range(5):
    client.send(b"ask")
    client.recv(100)
os.wait()
END
kinds=tcp
why_of python3 ask.py
check "a server that sleeps for each answer: $(spent)" is_so ".spent_on_ns.timer | . >= 199e6 and . <= $(cat out) + 5e6"
check "... the sleep is the server's, not the client's" is_so '
    . as $why | [.rows[] | select(.spent_on == "timer" and .pid != $why.pid).time_ns] | add >= 199e6'
check "... parts add up" is_so "$adds_up"

if [ "$meter" = kernel ]; then
    cat > small.py << 'END'
# Nagle's algorithm: each second small send waits for the receiver's delayed acknowledgement.
import os, socket
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
if os.fork() == 0:
    peer, _ = server.accept()
    for _ in range(10):
        got = 0
        while got < 8:
            got += len(peer.recv(8 - got))
        peer.send(b"done")
    os._exit(0)
client = socket.socket()
client.connect(server.getsockname())
for _ in range(10):
    client.send(b"head")
    client.send(b"tail")
    client.recv(100)
os.wait()
END
    why_of python3 small.py
    check "small sends that wait for acknowledgements are messages in flight: $(spent)" is_so '
        .spent_on_ns.in_flight > 0.5 * ([.spent_on_ns | .outside, .timer, .event, .unknown] | add) and .spent_on_ns.in_flight > 100e6'
    check "... parts add up" is_so "$adds_up"
fi

kinds=pipe
why_of python3 -c 'import time
end = time.process_time() + 0.2
while time.process_time() < end: pass'
check "a computing program: $(spent)" is_so '.spent_on_ns.computing | . >= 199e6 and . < 600e6'
check "... parts add up" is_so "$adds_up"
# on a busy machine it also waits for a CPU
check "the report says it first" sh -c "'$dpm' report why.trace | grep -m 1 -A 6 '^What was found' | tr '\n' ' ' |
    grep -q 'What was found *Time  .*python3.*computed'"

check "the table has the kinds and the rows" sh -c "'$dpm' why why.trace | grep -q 'computing' && '$dpm' why --all why.trace > all"
check_not "a trace that does not exist" "$dpm" why nothing.trace

# Nobody answers: the wait ends with a timeout of the socket, which no peer has caused.
cat > unanswered.py << 'END'
import socket, struct
one, other = socket.socketpair()
one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 300000))
try:
    one.recv(1)
except BlockingIOError:
    pass
END
kinds=unix
why_of python3 unanswered.py
check "a receive that times out is no peer's doing: $(spent)" is_so '.spent_on_ns.outside == 0 and .spent_on_ns.unknown >= 250e6'
check "... parts add up" is_so "$adds_up"

# Each was created by sh, and had its name, before it executed its own program.
kinds=all
why_of sh -c 'seq 300000 | tac | sort'
check "processes with names of their own need no labels" is_so '[.rows[].label // empty] == [] and ([.rows[].name] | unique | length) >= 2'

# ---- what would tell more ----

"$dpm" why why.trace > text
if [ "$meter" = kernel ]; then
    check_not "all is recorded: no hint of flags" grep -q 'not metered' text
fi
rm -rf why.trace
"$dpm" run --meter "$meter" --kinds pipe --flags all,-block,-wakeup -o why.trace --report none -- sleep 0.1 > out 2> err
"$dpm" why why.trace > text
check "events that were not metered are named, and what records them" sh -c "tr -s '\n ' '  ' < text |
    grep -q 'not metered: .*block.*--flags all'"
cat > unmonitored.py << 'END'
# An unmonitored server answers after 200 ms.
import socket, sys
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.recv(1)
END
port=$(free_port)
python3 -c 'import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
peer, _ = server.accept()
time.sleep(0.2)
peer.send(b"x")' "$port" > served 2>&1 &
wait_for 30 grep -q ready served
rm -rf why.trace
"$dpm" run --meter "$meter" --kinds tcp -o why.trace --report none -- python3 unmonitored.py "$port" > out 2> err
"$dpm" why why.trace > text
check "how to know what an unmonitored peer did" sh -c "tr -s '\n ' '  ' < text | grep -q 'dpm acquire --pid PID'"

# A send finds the pipe full: the time is that of the receiver, which computes before it takes anything; from then on
# when the pipe is full, so that a sender that gets a processor late has to wait as long.
cat > full.py << 'END'
import fcntl, os, struct, termios, time
one, other = os.pipe()
if os.fork() == 0:
    os.close(other)
    room = fcntl.fcntl(one, 1032) # F_GETPIPE_SZ
    while struct.unpack("i", fcntl.ioctl(one, termios.FIONREAD, bytes(4)))[0] < room: pass
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
    while os.read(one, 65536): pass
    os._exit(0)
os.close(one)
for i in range(50): os.write(other, b"x" * 4096)
END
kinds=pipe
why_of python3 full.py
check "a pipe that is full: $(spent)" is_so '.pid as $command |
    ([.rows[] | select(.pid != $command and .spent_on == "computing") | .time_ns] | add) >= 290e6'
check "... the sender waited for space" is_so '.pid as $command |
    [.waits[] | select(.waited_for == "space" and .pid == $command and .ended_by_pid != null and .longest_ns > 250e6)] != []'
check "... parts add up" is_so "$adds_up"

# A process that ran before the recording: its end is seen, but not its beginning.
if [ "$meter" = kernel ]; then
    rm -rf line why.trace
    mkfifo line
    python3 -c 'import sys; sys.stdin.readline(); sys.stdin.readline()' < line > out 2>&1 &
    pid=$!
    exec 3> line
    take_over --kinds pipe -o why.trace --pid $pid
    echo one >&3
    echo two >&3
    exec 3>&-
    wait $pid $acquirer
    "$dpm" why --json why.trace > why.json
    check "the beginning of an acquired process is not known" is_so '.pid == null'
fi

# ---- requests of a service ----

cat > serve.py << 'END'
# Each connection has a thread; all of them share one lock, under which each request takes 10 ms. Prints how many
# ns it took, each time.
import socket, sys, threading, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
lock = threading.Lock()
def serve(peer):
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while peer.recv(100):
        with lock:
            began = time.monotonic_ns()
            time.sleep(0.01)
            print(time.monotonic_ns() - began, flush=True)
        peer.send(b"an")
        peer.send(b"swer")
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
END
cat > clients.py << 'END'
# Prints how many requests were answered, and the ns that they took together.
import socket, sys, threading, time
took = []
def ask():
    peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(20):
        began, answer = time.monotonic_ns(), b""
        peer.send(b"ask")
        while len(answer) < 6:
            answer += peer.recv(6 - len(answer))
        took.append(time.monotonic_ns() - began)
threads = [threading.Thread(target=ask) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(took), sum(took))
END
if [ "$meter" = kernel ]; then
    port=$(free_port)
    python3 serve.py "$port" > served 2>&1 &
    server=$!
    wait_for 30 grep -q ready served
    take_over --kinds tcp -o service.trace --pid $server
    watched python3 clients.py "$port" > asked
    kill -INT $acquirer
    wait $acquirer
    "$dpm" why --json service.trace > why.json
    read -r count took < asked
    check_equal "a service: its requests" "$count" "$(jq .requests.count why.json)"
    # clients may get a processor long after an answer has come: the least is what passed under the lock, by the server
    check "... take no longer than their clients say, and no less than the server says ($((took / 1000000)) ms; $(jq '.requests.time_ns / 1e6 | floor' why.json))" \
        is_so ".requests.time_ns <= $took and .requests.time_ns >= $(sed 1d served | jq -s add)"
    check "... parts add up" is_so '.requests | ([.rows[].time_ns] | add) == .time_ns and ([.spent_on_ns[]] | add) == .time_ns'
    check "... the time under the lock is a timer's: 10 ms each" is_so \
        ".requests.spent_on_ns.timer | . >= 10e6 * $count and . <= $(sed 1d served | jq -s add) + 1e6 * $count"
    # of three that want the lock, two wait
    check "... and the lock is waited for twice as long" is_so \
        ".requests | .spent_on_ns.lock > 1.2 * .spent_on_ns.timer and .spent_on_ns.unknown < 0.05 * .time_ns + 3 * $stalled"
    check "... hops of the slowest follow each other" is_so '.requests.slowest | . as $slowest |
        reduce .hops[] as $hop (0; if . == $hop.begin_ns then . + $hop.time_ns else -1 end) | . == $slowest.time_ns'
    check "... waits for the lock are ended by the server itself" is_so \
        ".waits | map(select(.waited_for == \"lock\" and .ended_by_pid == $server)) | length > 0"
    check "the report says it first" sh -c "'$dpm' report service.trace | grep -A 4 '^What was found' | tr '\n' ' ' |
        grep -q 'What was found *Time  .* of the time of $count requests .*python3.*waited for a lock'"
    "$dpm" why service.trace > text
    check "dpm why shows requests, and the slowest hop by hop" sh -c "grep -q '^$count requests took ' text &&
        grep -q '^The slowest request, of ' text && grep -q '|=* *|.*python3' text"
    check "... and waits by themselves" sh -c "'$dpm' why --waits service.trace | grep -q 'python3\[$server\] *lock *futex'"
    kill $server
fi
finish
