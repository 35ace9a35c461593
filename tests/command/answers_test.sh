#!/bin/sh
# SPDX-License-Identifier: MIT
# answers_test.sh BUILD_FOLDER: answers and requests in programs whose truth is known: answers in pieces, small sends
# that wait for a delayed acknowledgement, requests that queue for a pooled connection, a connection for each request.
# Counts are exact; times are compared with what the programs measure.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq python3
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
cd "$scratch" || exit 1

# found TRACE TOPIC: the sentences of a topic in its report, each on a line.
found() {
    "$dpm" report --json "$1" 2> err | jq -r --arg topic "$2" '.findings[] | select(.topic == $topic).text'
}

# ---- an answer in pieces ----

cat > pieces.py << 'END'
import os, random, socket, sys, time
random.seed(int(sys.argv[1]))
pieces, pause = random.randrange(10, 30), random.choice((0.01, 0.02))
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while connection.recv(10):
        received = time.monotonic_ns()
        for i in range(pieces):
            begun = time.monotonic_ns()
            connection.send(b"x" * 100)
            if i < pieces - 1:
                time.sleep(pause)
        print("serve", received, begun, time.monotonic_ns(), flush=True)
    os._exit(0)
client = socket.create_connection(listener.getsockname())
for _ in range(2):
    begun = time.monotonic_ns()
    client.send(b"q")
    asked, left, first = time.monotonic_ns(), 100 * pieces, None
    while left > 0:
        left -= len(client.recv(left))
        first = first or time.monotonic_ns()
    print("ask", begun, asked, first, time.monotonic_ns(), flush=True)
    time.sleep(0.05)
client.close()
os.wait()
END
# Between what times the client sent, the server received and sent its last piece, and the client had the first and the last:
# so an answer's duration, as seen by the client (request) and by the server (response), has bounds, on any machine.
cat > bounds.py << 'END'
import sys
lines = [line.split() for line in open(sys.argv[1])]
asks = [list(map(int, l[1:])) for l in lines if l[0] == "ask"]
serves = [list(map(int, l[1:])) for l in lines if l[0] == "serve"]
both = list(zip(asks, serves))
mean = lambda values: sum(values) / len(both)
least_request = mean(serve[1] - ask[1] for ask, serve in both)
most_request = mean(ask[3] - ask[0] for ask, serve in both)
least_response = mean(serve[1] - serve[0] for ask, serve in both)
most_response = mean(serve[2] - ask[0] for ask, serve in both)
first = min(ask[2] - ask[0] for ask, serve in both)
# whether each first piece came much earlier than the last one
early = 2 * max(ask[2] - ask[0] for ask, serve in both) < min(serve[1] - max(ask[1], serve[0]) for ask, serve in both)
print('{"request": [%d, %d], "response": [%d, %d], "first": %d, "early": %s}' % (
    least_request, most_request, least_response, most_response, first, "true" if early else "false"))
END
seed=${DPM_SEED:-$$}
echo "# seed $seed (DPM_SEED repeats it)"
"$dpm" run -o pieces.trace --kinds tcp -- "$python" pieces.py "$seed" > pieces.log 2> err
check_equal "answers in pieces are recorded" 0 $?
"$dpm" stats --json pieces.trace > stats.json
"$python" bounds.py pieces.log > bounds.json
for who in response request; do
    check_equal "$who: two answers, however many pieces" "2 2" \
        "$(jq -r "[.processes[] | select(.${who}_ns)][0] | \"\(.${who}_ns.count) \(.${who}_last_byte_ns.count)\"" stats.json)"
    check "$who: they last until the last piece: $(xargs < bounds.json)" jq -e --slurpfile log bounds.json "
        [.processes[] | select(.${who}_ns)][0].${who}_last_byte_ns.mean |
            . >= \$log[0].${who}[0] - 1e5 and . <= \$log[0].${who}[1] + 1e5" stats.json
    check "$who: ... the first piece came as soon as the client says" jq -e --slurpfile log bounds.json "
        [.processes[] | select(.${who}_ns)][0] | .${who}_ns.min <= \$log[0].first" stats.json
done
found pieces.trace Answers > answers
if jq -e .early bounds.json > early; then
    check_equal "both sentences are about the last byte, and name the first" 2 \
        "$(grep -c '2 requests: .* to the last byte median .* The first byte came after' answers)"
else
    skip "both sentences are about the last byte, and name the first" "a first piece was held up: $(xargs < bounds.json)"
fi
check "the table shows both" sh -c "'$dpm' stats pieces.trace | grep -q 'service time, last byte  *2 '"

"$dpm" parallelism --json pieces.trace > parallelism.json
check "waits for others take at most the elapsed time" jq -e '[.. | objects | select(has("elapsed_ns") and has("time_ns"))] |
    length > 0 and all(.elapsed_ns <= .time_ns)' parallelism.json

# ---- Nagle's algorithm ----

# Header and body of each answer in two sends (MODE: nagle; the same with TCP_NODELAY: nodelay; with 40 ms between
# the two: sleep; in one send: whole). Prints how many answers the client has waited for 30 ms or more.
cat > sends.py << 'END'
import os, socket, sys, time
mode, rounds = sys.argv[1], 15
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, mode == "nodelay")
    while connection.recv(100):
        if mode == "whole":
            connection.send(b"x" * 1150)
            continue
        connection.send(b"H" * 150)
        if mode == "sleep":
            time.sleep(0.04)
        connection.send(b"B" * 1000)
    os._exit(0)
client, late = socket.create_connection(listener.getsockname()), 0
for _ in range(rounds):
    client.send(b"q" * 70)
    asked, left = time.monotonic(), 1150
    while left > 0:
        left -= len(client.recv(left))
    late += time.monotonic() - asked > 0.03
    time.sleep(0.01)
print(late)
client.close()
os.wait()
END
modes='nagle nodelay sleep'
if long_ones; then
    modes='nagle nodelay sleep whole'
else
    skip "whole: nothing is held back" "takes long: only with ./dev test --all"
fi
for mode in $modes; do
    "$dpm" run -o $mode.trace --kinds tcp -- "$python" sends.py $mode > $mode.log 2> err
    "$dpm" stats --json $mode.trace > stats.json
    held=$(jq '[.paths[].nagle | .sent + .received] | add' stats.json)
    found $mode.trace Connections > connections
    if [ $mode = nagle ] && [ "$(cat $mode.log)" -ge 3 ]; then
        # an answer may be late for another reason on a busy machine, or be held back for just as long as counts as late
        check "$mode: as many messages are held back as answers were late, but for a few ($held, $(cat $mode.log))" \
            awk -v held="$held" -v late="$(cat $mode.log)" 'BEGIN { exit !(held >= 0.8 * late - 1 && held <= 1.2 * late + 1) }'
        check "$mode: each by what is a delayed acknowledgement" jq -e '[.paths[].nagle] | (map(.sent_ns + .received_ns) | add) /
            (map(.sent + .received) | add) | . > 30e6 and . < 120e6' stats.json
        check "$mode: the report names it, the server's end, and what to do" grep -qE \
            "^Nagle's algorithm held back $held of 30 messages from python3[^ ]*\[[0-9]*\] 127.0.0.1:[0-9]* to .*TCP_NODELAY" connections
    elif [ $mode = nagle ]; then
        skip "$mode: this machine acknowledges at once" "$(cat $mode.log) answers were late"
    else
        check_equal "$mode: nothing is held back" "0 " "$held $(grep Nagle connections)"
    fi
done

# ---- a pooled connection ----

# A front server whose requests share one connection to the back end, one at a time and in order; three clients, of
# which the front server answers each request with one call. Ends after that many requests.
cat > pooled.py << 'END'
import os, select, selectors, socket, sys, time
clients, rounds = 3, 10
back = socket.create_server(("127.0.0.1", 0))
front = socket.create_server(("127.0.0.1", 0))


def nodelay(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def serve_back():
    connection = nodelay(back.accept()[0])
    while connection.recv(100):
        time.sleep(0.005)
        connection.send(b"b")


def serve_front():
    pool = nodelay(socket.create_connection(back.getsockname()))
    poll, queue, open_ends = selectors.DefaultSelector(), [], clients
    for _ in range(clients):
        poll.register(nodelay(front.accept()[0]), selectors.EVENT_READ)
    for key in list(poll.get_map().values()):
        select.select([key.fileobj], [], [])  # all have asked
    poll.register(pool, selectors.EVENT_READ)
    while open_ends > 0:
        ready = [key.fileobj for key, _ in poll.select()]
        if pool in ready:
            pool.recv(100)
            queue.pop(0).send(b"a")
            if queue:
                pool.send(b"q")
        for connection in ready:
            if connection is pool:
                continue
            if not connection.recv(100):
                poll.unregister(connection)
                open_ends -= 1
                continue
            queue.append(connection)
            if len(queue) == 1:
                pool.send(b"q")


def ask():
    connection = nodelay(socket.create_connection(front.getsockname()))
    for _ in range(rounds):
        connection.send(b"r")
        connection.recv(100)


children = []
for work in (serve_back, serve_front, ask, ask, ask):
    children.append(os.fork())
    if children[-1] == 0:
        work()
        os._exit(0)
for child in children[1:]:
    os.waitpid(child, 0)
END
"$dpm" run -o pooled.trace --kinds tcp -- "$python" pooled.py > out 2> err
check_equal "requests for a pooled connection are recorded" 0 $?
"$dpm" causality --json pooled.trace > causality.json
check "each request asks the back end once" jq -e '.requests.count == 30 and (.paths | length == 1 and
    (.[0].string | . == "ABA" or . == "BAB") and .[0].count == 30 and .[0].answered)' causality.json
check "... those that waited are only assumed to" jq -e '.precision.assumed.waiting > 0' causality.json
check "the report says how much is assumed" sh -c "'$dpm' report --json pooled.trace | jq -r '.findings[] |
    select(.topic == \"Requests\").text' | grep -q '^100% of the request paths are .*% of the messages are attributed to requests by assumption'"

check "... that most of them wait for the one connection to the back end" jq -e '.pools | length == 1 and (.[0] |
    .connections == 1 and .requests == 30 and .waits_ns.count >= 10)' causality.json
# Python may need so long to begin that it is no more than a twentieth of the time, of which the report says nothing.
if "$dpm" stats --json pooled.trace | jq -e --slurpfile of causality.json '$of[0].pools[0].waited_ns >= 0.05 * .trace.duration_ns' > large; then
    found pooled.trace Connections > connections
    check "... which it says, too" grep -qE \
        '^[12][0-9] of 30 requests in python3[^ ]*\[[0-9]*\] waited for its 1 connection to python3[^ ]*\[[0-9]*\] 127.0.0.1:[0-9]*, which was busy: ' connections
else
    skip "... which it says, too" "the program took long for other things"
fi

# ---- a connection for each request ----

# 200 requests, each with its own connection (own), or all with the same (same).
cat > own.py << 'END'
import os, socket, sys
mode, requests = sys.argv[1], 200
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    served = 0
    while served < requests:
        connection, _ = listener.accept()
        while connection.recv(100):
            connection.send(b"a")
            served += 1
        connection.close()
    os._exit(0)
client = None
for _ in range(requests):
    if client is None or mode == "own":
        if client is not None:
            client.close()
        client = socket.create_connection(listener.getsockname())
    client.send(b"q")
    client.recv(100)
client.close()
os.wait()
END
for mode in own same; do
    "$dpm" run -o $mode.trace --kinds tcp -- "$python" own.py $mode > out 2> err
    found $mode.trace Connections > connections
    if [ $mode = own ]; then
        check "$mode: the report names the server and both numbers" grep -qE \
            '^200 requests to python3[^ ]*\[[0-9]*\] 127.0.0.1:[0-9]* came over 200 connections, [0-9]* per second' connections
    else
        check_equal "$mode: nothing is said" "" "$(cat connections)"
    fi
done

# ---- pipes ----

"$dpm" run -o pipes.trace --kinds pipe -- sh -c 'seq 100 | sort | wc -l' > out 2> err
check_equal "pipes have no requests" "" "$(found pipes.trace Requests; found pipes.trace Answers)"
finish
