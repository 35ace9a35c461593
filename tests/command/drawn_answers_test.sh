#!/bin/sh
# SPDX-License-Identifier: MIT
# drawn_answers_test.sh BUILD_FOLDER: dpm graph draws an arc from a SEND to a peer that is not metered to the RECEIVE of its
# answer, with the elapsed time (thesis, figure 5.3B). Client and server note the times themselves.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs python3 jq ss
cd "$scratch" || exit 1
python=$(python3 -c 'import sys; print(sys.executable)')
asks=5

# The server prints when it answers; the client when it begins and ends to ask, when it has the answer, and its CPU time
# meanwhile. All in seconds, by one clock. The client computes during some of its requests.
cat > server.py << 'END'
import random, socket, sys, time
peer, _ = socket.create_server(("127.0.0.1", int(sys.argv[1]))).accept()
while peer.recv(10):
    time.sleep(random.uniform(.005, .05))
    print(time.monotonic(), flush=True)
    peer.send(b"a")
END
cat > client.py << 'END'
import random, socket, sys, time
def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        except ConnectionRefusedError:
            time.sleep(.02)
server = connect()
for i in range(int(sys.argv[2])):
    cpu, begins = time.thread_time(), time.monotonic()
    server.send(b"q")
    asked = time.monotonic()
    while i % 2 and time.monotonic() < asked + .03: pass
    server.recv(10)
    print(begins, asked, time.monotonic(), time.thread_time() - cpu, flush=True)
END

# took FILE: of the arcs of answers in a picture, in ms.
took() {
    grep -o 'answer from outside, took [0-9.]* [a-z]*' "$1" |
        awk '{ print $5 * ($6 == "s" ? 1000 : $6 == "us" ? .001 : $6 == "ns" ? .000001 : 1) }'
}

# between FILE: whether each is at least the time from the end of the question to the answer, and at most the time that the
# client saw. Three digits are shown.
between() {
    took "$1" > took
    paste -d ' ' took client.out server.out | awk -v asks="$asks" '
        { least = ($6 - $3 - $5) * 1000; most = ($4 - $2) * 1000
          if ($1 < least * .99 - .01 || $1 > most * 1.01 + .01 || NF != 6) { print NR ": " least, $1, most; wrong = 1 } }
        END { exit wrong || NR != asks }'
}

port=$(free_port)
timeout 60 "$python" server.py "$port" > server.out &
timeout 60 "$dpm" run -o outside.trace --report outside.txt -- "$python" client.py "$port" "$asks" > client.out
wait $!
"$dpm" graph -o outside.svg outside.trace
"$dpm" graph -o outside.dot outside.trace
"$dpm" path --graph path.svg outside.trace > /dev/null
check "each answer is drawn with the time that it took" between outside.svg
check "... also for Graphviz" between outside.dot
check "... and beside the critical path" between path.svg
check_equal "dpm parallelism counts as many" "$asks" \
    "$("$dpm" parallelism outside.trace | sed -n 's/^\([0-9]*\) replies from unmonitored peers.*/\1/p')"
sed -n 's/^ *\(e[0-9]*\) -> \(e[0-9]*\) .*answer from outside.*from SEND.*/\1 \2/p' outside.dot > arcs
check_equal "each leads from its own SEND" "$asks" "$(sort -u -k 1,1 arcs | wc -l)"
"$dpm" graph --from 1000s outside.trace > none.svg 2> err
check_equal "none is drawn without its events" "" "$(took none.svg)"

port=$(free_port)
timeout 60 "$dpm" run -o inside.trace --report inside.txt -- \
    sh -c '"$1" server.py "$2" & "$1" client.py "$2" "$3"; wait' sh "$python" "$port" "$asks" > /dev/null
"$dpm" graph --most 10000 -o inside.svg inside.trace
check_equal "an answer of a metered server is a message, and no such arc" "" "$(took inside.svg)"
check "... which is drawn" test "$(grep -c '<path class="arc exact' inside.svg)" -ge $((2 * asks))
finish
