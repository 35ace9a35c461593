#!/bin/sh
# SPDX-License-Identifier: MIT
# response_test.sh BUILD_FOLDER: request latency and service time, against the server's and client's own measurements;
# and sizes, over a connection with known messages.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
command -v python3 > /dev/null || skip_all "python3 is not installed"
cd "$scratch" || exit 1

# The server's log: for each request, ns from the end of its receive to the beginning of its answer. The client's: from
# the end of its send to the end of its receive.
cat > program.py << 'END'
import os, random, socket, sys, time

kind, requests = sys.argv[1], int(sys.argv[2])
random.seed(int(sys.argv[3]))
delays = [random.choice((0.0005, 0.002, 0.01)) for _ in range(requests)]
family, address = (socket.AF_INET, ("127.0.0.1", 0)) if kind == "tcp" else (socket.AF_UNIX, "server.socket")
listener = socket.socket(family, socket.SOCK_STREAM)
listener.bind(address)
listener.listen()


def serve():
    connection, _ = listener.accept()
    with open("server.log", "w") as log:
        for delay in delays:
            size = len(connection.recv(100000))
            received = time.monotonic_ns()
            time.sleep(delay)
            begun = time.monotonic_ns()
            connection.send(b"x" * (size * 3))
            print(received, begun, time.monotonic_ns(), file=log)


def ask():
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.connect(listener.getsockname())
    with open("client.log", "w") as log:
        for i in range(requests):
            begun = time.monotonic_ns()
            connection.send(b"x" * (100 + i))
            sent = time.monotonic_ns()
            left = 3 * (100 + i)
            while left > 0:
                left -= len(connection.recv(left))
                received = time.monotonic_ns()
            print(begun, sent, received, file=log)


child = os.fork()
if child == 0:
    serve()
    os._exit(0)
ask()
os.waitpid(child, 0)
END
requests=200
seed=${DPM_SEED:-$$}
echo "# seed $seed (DPM_SEED repeats it)"
# A process may lose its CPU between a call and reading its clock, so the two logs tell no times but bounds of each: the
# client sent between `begun` and `sent`, and the server answered after its `begun`.
cat > bounds.py << 'END'
import json
read = lambda name: [list(map(int, line.split())) for line in open(name)]
both = list(zip(read("client.log"), read("server.log")))
json.dump({
    "client": {"least": sorted(server[1] - client[1] for client, server in both),
               "most": sorted(client[2] - client[0] for client, server in both)},
    "server": {"least": sorted(server[1] - server[0] for client, server in both),
               "most": sorted(server[2] - client[0] for client, server in both)}}, open("bounds.json", "w"))
END
# within WHAT client|server FILTER: the count, and mean, least and largest lie within the bounds; so do quantiles, which are
# known within an eighth.
within() {
    jq -e -n --arg who "$2" --slurpfile bounds bounds.json --slurpfile stats stats.json "
        \$bounds[0][\$who] as {\$least, \$most} | (\$least | length) as \$count
        | def within(\$found; \$low; \$high): \$found >= \$low - 50000 and \$found <= \$high + 50000;
          def quantile(\$found; \$percent): (\$count * \$percent / 100 | floor) as \$rank |
            within(\$found; \$least[\$rank] * 0.875; \$most[\$rank] * 1.125);
        (\$stats[0] | $3) as \$found
        | \$found.count == \$count
          and within(\$found.mean; \$least | add / length; \$most | add / length)
          and within(\$found.min; \$least[0]; \$most[0]) and within(\$found.max; \$least[-1]; \$most[-1])
          and quantile(\$found.p50; 50) and quantile(\$found.p90; 90) and quantile(\$found.p99; 99)" > verdict
    if [ "$(cat verdict)" = true ]; then
        pass "$1"
    else
        fail "$1" "$(jq -c "$3" stats.json); bounds: $(jq -c --arg who "$2" '.[$who] | map_values([add / length, .[0], .[100], .[180], .[198], .[-1]])' bounds.json)"
    fi
}
record_program() {
    rm -rf $kind.trace server.socket
    "$dpm" run -o $kind.trace --kinds $kind -- python3 program.py $kind $requests "$seed" > out 2> err
    status=$?
    "$dpm" stats --json $kind.trace > stats.json 2> dump.err
}
for kind in tcp unix; do
    repeat record_program
    check_equal "$kind: the program runs" 0 $status
    python3 bounds.py
    within "$kind: a server's answers take what it says" server \
        '.processes | map(select(.response_ns)) | .[0].response_ns'
    within "$kind: a client waits as long as it says" client \
        '.processes | map(select(.request_ns)) | .[0].request_ns'
    within "$kind: the path says the same of the server" server '.paths[0].response_ns'
    within "$kind: and of the client" client '.paths[0].request_ns'
    check_equal "$kind: sizes of the requests" "200 100 299" \
        "$(jq -r '.pairs | min_by(.bytes).size | "\(.count) \(.min) \(.max)"' stats.json)"
    check_equal "$kind: ... and of the answers" "200 300 897" \
        "$(jq -r '.pairs | max_by(.bytes).size | "\(.count) \(.min) \(.max)"' stats.json)"
    check_equal "$kind: ... of what each process sends, and of what went over the path" "200 100 299, 200 300 897; 400 100 897" \
        "$(jq -r '(.processes | map(select(.size)) | sort_by(.size.min) | map("\(.size | "\(.count) \(.min) \(.max)")")
            | join(", ")) + "; " + (.paths[0].size | "\(.count) \(.min) \(.max)")' stats.json)"
    check_equal "$kind: all of it is local" "400 0" \
        "$(jq -r '.trace | "\(.local.messages) \(.remote.messages)"' stats.json)"
    check_equal "$kind: shares make a whole" "1 1 1" "$(jq -r '[.processes[].share] |
        "\(map(.cpu) | add * 1000 | round / 1000) \(map(.messages) | add) \(map(.bytes) | add)"' stats.json)"
done

# ---- connections that have ended, and ports that are used again ----

# Five connections from the same port, which is free at once when a connection is reset; and three from ports that the
# kernel chooses.
cat > again.py << 'END'
import socket, struct
listener = socket.create_server(("127.0.0.1", 0))
address = listener.getsockname()
port = 0
for i in range(8):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if i < 5:
        client.bind(("127.0.0.1", port))
        port = client.getsockname()[1]
    client.connect(address)
    server, _ = listener.accept()
    client.send(b"x")
    server.recv(1)
    client.close()
    server.close()
END
"$dpm" run -o again.trace --kinds tcp -- python3 again.py > out 2> err
check_equal "the program runs" 0 $?
"$dpm" stats --json again.trace > stats.json
check_equal "connections that ended" "8 8, 8 8" \
    "$(jq -r '"\(.trace | "\(.connections) \(.ended)"), \(.paths |
        "\(map(.connections) | add) \(map(.ended) | add)")"' stats.json)"
check_equal "... as the text says" '8 connections, 8 of them ended.' "$("$dpm" stats again.trace | grep connections)"

# ---- over time ----

# In bursts of various sizes, for a second. The log: when each send began and ended, and its bytes.
cat > bursts.py << 'END'
import random, socket, sys, time
random.seed(int(sys.argv[1]))
sender, receiver = socket.socketpair()
end = time.monotonic_ns() + 1_000_000_000
with open("bursts.log", "w") as log:
    while time.monotonic_ns() < end:
        for _ in range(random.randrange(1, 20)):
            size = random.randrange(1, 3000)
            begun = time.monotonic_ns()
            sender.send(b"x" * size)
            print(begun, time.monotonic_ns(), size, file=log)
            receiver.recv(4000)
        time.sleep(random.choice((0.001, 0.01, 0.08)))
END
"$dpm" run -o bursts.trace --kinds unix -- python3 bursts.py "$seed" > out 2> err
check_equal "the program runs" 0 $?
"$dpm" stats --json --every 50ms bursts.trace > stats.json
cat > compare.py << 'END'
import json, sys
sends = [[int(word) for word in line.split()] for line in open("bursts.log")]
intervals = [(interval["messages"], interval["bytes"]) for interval in json.load(open("stats.json"))["intervals"]]
every = 50_000_000
least = [[0, 0] for _ in intervals]
most = [[0, 0] for _ in intervals]
certain = 0
for begun, ended, size in sends:
    # the first interval begins somewhere in the first send; a send belongs to one of these
    first = max(0, (begun - sends[0][1]) // every)
    last = (ended - sends[0][0]) // every
    for interval in range(first, min(last + 1, len(intervals))):
        most[interval][0] += 1
        most[interval][1] += size
    if first == last:
        least[first][0] += 1
        least[first][1] += size
        certain += 1
wrong = [number for number, found in enumerate(intervals)
         for part in (0, 1) if not least[number][part] <= found[part] <= most[number][part]]
print(f"{len(intervals)} intervals, wrong are {wrong}; {certain} of {len(sends)} sends are certain")
# (nothing is certain if the first send was held up)
known = sends[0][1] - sends[0][0] < every / 5
sys.exit(bool(wrong) or len(intervals) < 15 or known and certain < 0.5 * len(sends))
END
check "--every 50 ms agrees with the sender's log: $(python3 compare.py)" python3 compare.py
finish
