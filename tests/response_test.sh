#!/bin/sh
# SPDX-License-Identifier: MIT
# response_test.sh BUILD_FOLDER: how long answers take, against what server and client measure
# themselves; and sizes, over a connection whose messages are known.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
command -v python3 > /dev/null || skip_all "python3 is not installed"
cd "$scratch" || exit 1

# The server's log: for each request, ns from the end of its receive to the beginning of its answer.
# The client's: from the end of its send to the end of its receive.
cat > program.py << 'END'
import os, random, socket, sys, time

requests = int(sys.argv[1])
random.seed(int(sys.argv[2]))
delays = [random.choice((0.0005, 0.002, 0.01)) for _ in range(requests)]
listener = socket.create_server(("127.0.0.1", 0))
address = listener.getsockname()


def serve():
    connection, _ = listener.accept()
    with open("server.log", "w") as log:
        for delay in delays:
            size = len(connection.recv(100000))
            received = time.monotonic_ns()
            time.sleep(delay)
            print(time.monotonic_ns() - received, size, file=log)
            connection.send(b"x" * (size * 3))


def ask():
    connection = socket.create_connection(address)
    with open("client.log", "w") as log:
        for i in range(requests):
            connection.send(b"x" * (100 + i))
            sent = time.monotonic_ns()
            left = 3 * (100 + i)
            while left > 0:
                left -= len(connection.recv(left))
                received = time.monotonic_ns()
            print(received - sent, 100 + i, file=log)


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
"$dpm" run -o answers.trace --kinds tcp -- python3 program.py $requests "$seed" > out 2> err
check_equal "the program runs" 0 $?
"$dpm" stats --json answers.trace > stats.json

# near WHAT LOG FILTER: count and, within 0.3 ms, mean; quantiles lie where their ranks are, within an
# eighth. Who is kept from its CPU between a call and the look at its clock logs less than the
# truth, so the smallest and the largest may be more than in the log.
near() {
    jq -e --slurpfile log "$2" -n --slurpfile stats stats.json "
        def near(\$a; \$b; \$part): (\$a - \$b) | fabs <= 300000 + \$b * \$part;
        (\$log | [range(0; length; 2) as \$i | \$log[\$i]] | sort) as \$times
        | (\$stats[0] | $3) as \$found
        | \$found.count == (\$times | length)
          and near(\$found.mean; (\$times | add / length); 0)
          and \$found.min >= \$times[0] - 300000 and \$found.min <= \$found.p50
          and \$found.max >= \$times[-1] - 300000 and \$found.max <= \$times[-1] + 20000000
          and near(\$found.p50; \$times[(\$times | length) * 50 / 100 | floor]; 0.125)
          and near(\$found.p90; \$times[(\$times | length) * 90 / 100 | floor]; 0.125)
          and near(\$found.p99; \$times[(\$times | length) * 99 / 100 | floor]; 0.125)" > verdict
    if [ "$(cat verdict)" = true ]; then
        pass "$1"
    else
        fail "$1" "$(jq -c "$3" stats.json); its log: $(sort -n "$2" | sed -n '1p;50p;$p' | xargs)"
    fi
}
near "a server's answers take what it says" server.log \
    '.processes | map(select(.response_ns)) | .[0].response_ns'
near "a client waits as long as it says" client.log \
    '.processes | map(select(.request_ns)) | .[0].request_ns'
near "the path says the same of the server" server.log '.paths[0].response_ns'
near "and of the client" client.log '.paths[0].request_ns'
check_equal "sizes of the requests" "200 100 299" \
    "$(jq -r '.pairs | min_by(.bytes).size | "\(.count) \(.min) \(.max)"' stats.json)"
check_equal "... and of the answers" "200 300 897" \
    "$(jq -r '.pairs | max_by(.bytes).size | "\(.count) \(.min) \(.max)"' stats.json)"
check_equal "... of what each process sends, and of what went over the path" "200 100 299, 200 300 897; 400 100 897" \
    "$(jq -r '(.processes | map(select(.size)) | sort_by(.size.min) | map("\(.size | "\(.count) \(.min) \(.max)")")
        | join(", ")) + "; " + (.paths[0].size | "\(.count) \(.min) \(.max)")' stats.json)"
check_equal "all of it is local" "400 0" \
    "$(jq -r '.trace | "\(.local.messages) \(.remote.messages)"' stats.json)"
check_equal "shares make a whole" "1 1 1" "$(jq -r '[.processes[].share] |
    "\(map(.cpu) | add * 1000 | round / 1000) \(map(.messages) | add) \(map(.bytes) | add)"' stats.json)"

# ---- connections that have ended, and ports that are used again ----

# Five connections from the same port, which is free at once when a connection is reset; and three from
# ports that the kernel chooses.
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
check_equal "connections that ended, and had addresses of earlier ones" "8 8 4, 8 8 4" \
    "$(jq -r '"\(.trace | "\(.connections) \(.ended) \(.reused)"), \(.paths |
        "\(map(.connections) | add) \(map(.ended) | add) \(map(.reused) | add)")"' stats.json)"
check_equal "... as the text says" \
    '8 connections, 8 of them ended, 4 with addresses and ports that an earlier one had.' \
    "$("$dpm" stats again.trace | grep connections)"
check_equal "... and CSV" 4 "$("$dpm" stats --csv --by path again.trace | python3 -c '
import csv, sys
print(sum(int(row["reused"]) for row in csv.DictReader(sys.stdin)))')"
finish
