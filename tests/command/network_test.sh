#!/bin/sh
# SPDX-License-Identifier: MIT
# network_test.sh BUILD_FOLDER: the recorded network figures are those that the kernel reports to other programs.
# Connections between two hosts (network namespaces): one whose route is removed for a while, one that ends after its
# process, and one that outlives the recording.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/two_hosts.sh"
need_meter
need_programs ip ss python3
cd "$scratch" || exit 1
leave_hosts() {
    [ -z "${server:-}" ] || kill "$server" 2> kill.err
}
two_hosts 10.9.8

# The server echoes. The client sends messages, has the server's way back blocked, sends another one, and has it opened;
# then it logs the kernel's figures for its connection.
cat > server.py << 'END'
import socket
listener = socket.create_server(("10.9.8.2", 7000))
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    try:
        while data := connection.recv(65536):
            connection.sendall(data)
    except ConnectionError:
        pass  # the client was ended
END
cat > client.py << 'END'
import array, fcntl, os, socket, struct, subprocess, sys, termios, time
way = ["blackhole", "10.9.8.1/32"]
route = ["ip", "-n", sys.argv[2], "route"]
connection = socket.create_connection(("10.9.8.2", 7000))
for _ in range(20):
    connection.sendall(b"x" * 1000)
    connection.recv(1000, socket.MSG_WAITALL)
if sys.argv[1] == "block":
    subprocess.run(route + ["add"] + way)
    connection.sendall(b"y" * 1000)
    while struct.unpack_from("I", connection.getsockopt(socket.IPPROTO_TCP, 11, 200), 100)[0] == 0:
        time.sleep(0.05)  # until it was sent again
    subprocess.run(route + ["del"] + way)
    connection.recv(1000, socket.MSG_WAITALL)
if sys.argv[1] == "flight":
    subprocess.run(route + ["add"] + way)
    connection.sendall(b"z" * 3000)

    def queued(request):
        size = array.array("i", [0])
        fcntl.ioctl(connection, request, size)
        return size[0]

    # SIOCOUTQ: sent and not acknowledged, and not sent yet; SIOCOUTQNSD: not sent yet
    while queued(termios.TIOCOUTQ) < 3000 or queued(0x894B) > 0:
        time.sleep(0.05)
    in_flight = queued(termios.TIOCOUTQ) - queued(0x894B)
    segments = struct.unpack_from("I", connection.getsockopt(socket.IPPROTO_TCP, 11, 200), 24)[0]
    print(in_flight, segments, flush=True)
    time.sleep(100)
info = connection.getsockopt(socket.IPPROTO_TCP, 11, 200)  # TCP_INFO
print(struct.unpack_from("I", info, 68)[0], struct.unpack_from("I", info, 100)[0], flush=True)
if sys.argv[1] == "stay":
    time.sleep(100)
END
ip netns exec $there python3 server.py > server.out &
server=$!
wait_for 30 grep -q ready server.out

# recorded TRACE: "round trip, retransmitted" of the clients' connections, from the last record of each, in order.
recorded() {
    "$dpm" dump --json --type network "$1" |
        jq -r -s '[.[] | select(.remote == "10.9.8.2:7000")] | group_by(.path)[] | .[-1] | "\(.round_trip_us) \(.retransmitted)"'
}

# On one host, a process closes its connection by its end: the acknowledgement of a close is delayed as long as its receiver
# may delay it, some 40 ms.
cat > killed.py << 'END'
import os, signal, socket, time
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    connection, _ = listener.accept()
    print(os.getpid(), flush=True)
    while data := connection.recv(65536):
        connection.sendall(data)
    time.sleep(10)
    os._exit(0)
connection = socket.create_connection(listener.getsockname())
for _ in range(5):
    connection.sendall(b"x" * 100)
    connection.recv(100)
os.kill(os.getpid(), signal.SIGKILL)
END
# One recording: a client whose way is blocked for a while, that process, and a client that is ended while it has its connection.
"$dpm" run --kinds tcp -o all.trace -- sh -c "ip netns exec $here python3 client.py block $there > client.out
    python3 killed.py > left
    exec ip netns exec $here python3 client.py stay $there > stays.out" > out 2> err &
meter=$!
wait_for 60 test -s stays.out
kill -TERM $meter # which is the command's
wait $meter
kill "$(cat left)"
pkill -f "client.py stay $there" 2> kill.err
check_equal "both ends of a connection are recorded after one process has closed it" 2 \
    "$("$dpm" dump --json --type network all.trace | jq -s 'map(select(.remote | startswith("127.0.0.1:")).path) | unique | length')"
check "a way that is blocked makes TCP send again" sh -c '[ "$(cut -d " " -f 2 client.out)" -gt 0 ]'
check "the client has logged the figures of its connection" test -s stays.out
# (Not the round trip: the acknowledgement of the end itself, which is not in the log, may come before the record.)
check_equal "the end of each connection has the number of retransmits, also of one whose process is killed at the end" \
    "$(cut -d ' ' -f 2 client.out stays.out | xargs)" "$(recorded all.trace | cut -d ' ' -f 2 | xargs)"
check_equal "... and so does dpm stats" "$(cut -d ' ' -f 2 client.out stays.out | awk '{ sum += $1 } END { print sum }')" \
    "$("$dpm" stats --json all.trace | jq '[.paths[].network.retransmitted | values] | add')"
check "... also in its table" sh -c "'$dpm' stats --by path all.trace | grep -q 'RTT RETRANSMITS'"

# Data in flight when a process is acquired.
ip netns exec $here python3 client.py flight $there > flight.out &
client=$!
wait_for 30 test -s flight.out
"$dpm" acquire --kinds tcp -o flight.trace --pid $client --duration 300ms > out 2> err
kill $client
wait $client 2> kill.err
ip -n $there route del blackhole 10.9.8.1/32
in_flight=$(cut -d ' ' -f 1 flight.out)
check "what is sent on a way without return stays in flight: $(cat flight.out)" sh -c \
    '[ "$(cut -d " " -f 1 flight.out)" = 3000 ] && [ "$(cut -d " " -f 2 flight.out)" -ge 1 ]'
check_equal "dpm stats reports it" "$in_flight" \
    "$("$dpm" stats --json flight.trace | jq '[.paths[].network.unacknowledged_bytes | values] | add')"
check_equal "... also in CSV" "$in_flight" "$("$dpm" stats --csv --by path flight.trace | python3 -c '
import csv, sys
print(sum(int(row["unacknowledged_bytes"] or 0) for row in csv.DictReader(sys.stdin)))')"
check "... and in its table" sh -c \
    "'$dpm' stats --by path flight.trace | grep -A 1 'RTT IN FLIGHT' | grep -q ' 2.93 KiB\$'"
check_equal "retransmits of a connection that is older than the recording are unknown" '[null]' \
    "$("$dpm" stats --json flight.trace | jq -c '[.paths[].network.retransmitted] | unique')"

"$dpm" run --kinds tcp -o none.trace --flags send,receive -- ip netns exec $here python3 client.py go $there > out 2> err
check_equal "without the flag destroypath there is none" "" "$(recorded none.trace)"
finish
