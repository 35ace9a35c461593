#!/bin/sh
# SPDX-License-Identifier: MIT
# tsp_test.sh BUILD_DIR: the travelling salesman example finds the optimum, with every version and any number of
# servers, always the same way, and detects a lost server. Prints TAP.
#
# The oracle is `tsp --check`, dynamic programming without bounds, servers or search; the cost of a tour is added up
# here from the printed matrix.
#
# DPM_SEED sets the first of the seeds (default 1).
# shellcheck disable=SC2317 # functions called by trap, await and wait_for
set -u

if [ $# -ne 1 ]; then
    echo "usage: sh tests/command/tsp_test.sh BUILD_DIR" >&2
    exit 2
fi
here=$(dirname "$0")
# shellcheck source=tests/command/tap.sh
. "$here/tap.sh"
# shellcheck source=tests/command/meter.sh
. "$here/meter.sh" # wait_for

tsp=$1/examples/tsp/tsp
server=$1/examples/tsp/tsp-server
seed=${DPM_SEED:-1}
started= # our processes that may still be running

clean_up() {
    for process in $started; do
        # Another process may have the number by now.
        grep -q "^PPid:[[:blank:]]*$$\$" "/proc/$process/status" 2>/dev/null || continue
        kill -CONT "$process" 2>/dev/null
        kill -TERM "$process" 2>/dev/null
    done
    rm -rf "$scratch"
}
trap clean_up EXIT

# result STATUS NAME: reports one test case that was run just before.
result() {
    if [ "$1" -eq 0 ]; then
        pass "$2"
    else
        fail "$2"
    fi
}

# field NAME FILE: a field of the output
field() {
    sed -n "s/^$1  *//p" "$2"
}

# tour_cost MATRIX TOUR: adds up a tour; "wrong" unless it visits every city once, from 0
tour_cost() {
    awk -v tour="$2" '
        { for (to = 1; to <= NF; to++) cost[NR - 1, to - 1] = $to }
        END {
            length_ = split(tour, city, " ")
            wrong = length_ != NR || city[1] != 0
            for (i = 1; i <= length_; i++) {
                wrong = wrong || seen[city[i]]++ || city[i] >= NR
                sum += cost[city[i], city[i % length_ + 1]]
            }
            print wrong ? "wrong" : sum
        }' "$1"
}

# await PROCESS SECONDS: waits for a child process, sets `status`; false if it takes longer
await() {
    ended() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
    wait_for "$2" ended "$1" || return 1
    wait "$1"
    status=$?
}

# ---- the optimum ----

# check_optimum CITIES SERVERS VERSION SEED: the run agrees with the oracle, with its own tour, and with the other runs
# of the same matrix
check_optimum() {
    one=$scratch/one
    timeout 60 "$tsp" --cities "$1" --servers "$2" --version "$3" --seed "$4" >"$one" || return 1
    case_=$scratch/$1.$4
    if [ ! -e "$case_.cost" ]; then
        "$tsp" --cities "$1" --seed "$4" --check | sed -n 's/^cost  *//p' >"$case_.cost"
        "$tsp" --cities "$1" --seed "$4" --print-matrix >"$case_.matrix"
        grep -v '^messages' "$one" >"$case_.first"
    fi
    cost=$(field cost "$one")
    [ -n "$cost" ] && [ "$cost" = "$(cat "$case_.cost")" ] &&
        [ "$(tour_cost "$case_.matrix" "$(field tour "$one")")" = "$cost" ] &&
        grep -v '^messages' "$one" | cmp -s - "$case_.first" &&
        [ "$(field messages "$one")" -eq $((2 * $(field requests "$one") + 3 * $2)) ]
}

echo "# seeds $seed to $((seed + 2))"
sizes='6 9'
! long_ones || sizes=$(seq 4 12)
for cities in $sizes; do
    servers=1
    while [ "$servers" -le 4 ]; do
        for version in 1 2 3; do
            # each seed with every version and with some numbers of servers
            each=$((seed + (servers + version) % 3))
            check_optimum "$cities" "$servers" "$version" "$each"
            wrong=$?
            if [ "$wrong" -ne 0 ]; then
                echo "# wrong: --cities $cities --servers $servers --version $version --seed $each"
                sed 's/^/#   /' "$scratch/one"
            fi
            result "$wrong" "optimum of $cities cities by $servers servers, version $version"
        done
        servers=$((servers + 1))
    done
done

# A check of the oracle: a matrix of 3 cities has two tours.
"$tsp" --cities 3 --seed "$seed" --print-matrix >"$scratch/matrix"
there=$(tour_cost "$scratch/matrix" "0 1 2")
back=$(tour_cost "$scratch/matrix" "0 2 1")
least=$((there < back ? there : back))
[ "$("$tsp" --cities 3 --seed "$seed" --check | sed -n 's/^cost  *//p')" = "$least" ]
result $? "the oracle agrees with the two tours of 3 cities"
[ "$(timeout 60 "$tsp" --cities 3 --servers 3 --seed "$seed" --quiet)" = "$least" ]
result $? "3 cities by 3 servers, and --quiet prints the cost only"

"$tsp" --cities 8 --seed "$seed" --print-matrix >"$scratch/matrix"
"$tsp" --cities 8 --seed $((seed + 1)) --print-matrix | cmp -s - "$scratch/matrix"
[ $? -eq 1 ]
result $? "another seed gives another matrix"

for version in 1 2 3; do
    timeout 60 "$tsp" --cities 12 --version "$version" --seed "$seed" --times >"$scratch/one"
    field answered "$scratch/one" |
        awk -v requests="$(field requests "$scratch/one")" '
            { for (i = 1; i <= NF; i++) { sum += $i; idle += $i == 0 } }
            END { exit !(NF == 4 && sum == requests && !idle) }'
    result $? "version $version, all 4 servers get work"
done

# One server waits once for the end of each step; if there are as many servers as pieces, each waits after each answer.
for servers in 1 11; do
    timeout 60 "$tsp" --cities 12 --servers $servers --seed "$seed" --times >"$scratch/one"
    [ "$servers" = 1 ] && each=steps || each=requests
    [ "$(field waits "$scratch/one")" = "$(field $each "$scratch/one")" ]
    result $? "$servers servers: as many waits as $each"
done

# ---- the bugs of the thesis: the same result, computed by one server ----

for version in 1 2 3; do
    timeout 60 "$tsp" --cities 12 --version "$version" --seed "$seed" --times >"$scratch/right"
    for bug in one-created one-used; do
        timeout 60 "$tsp" --cities 12 --version "$version" --seed "$seed" --times --bug "$bug" \
            >"$scratch/one"
        requests=$(field requests "$scratch/one")
        case $bug in
        one-created) answered="$requests" messages=$((2 * requests + 3)) ;;
        one-used) answered="$requests 0 0 0" messages=$((2 * requests + 12)) ;;
        esac
        [ "$(field answered "$scratch/one")" = "$answered" ] &&
            [ "$(field messages "$scratch/one")" = "$messages" ] &&
            [ "$(field tour "$scratch/one")" = "$(field tour "$scratch/right")" ] &&
            [ "$requests" = "$(field requests "$scratch/right")" ]
        result $? "version $version, --bug $bug: the right answer, by one server"
    done
done

# ---- servers started by hand ----

# start_by_hand SERVERS OPTION...: a controller that spawns none; sets `controller` and `port`
start_by_hand() {
    rm -f "$scratch/port"
    servers=$1
    shift
    "$tsp" --no-spawn --listen 127.0.0.1:0 --port-file "$scratch/port" --servers "$servers" "$@" \
        >"$scratch/out" 2>"$scratch/error" &
    controller=$!
    started="$started $controller"
    wait_for 30 test -s "$scratch/port" && port=$(cat "$scratch/port")
}

# start_server: sets `hand`
start_server() {
    "$server" 127.0.0.1 "$port" 2>>"$scratch/server-error" &
    hand=$!
    started="$started $hand"
}

start_by_hand 2 --cities 9 --seed "$seed" --quiet
start_server
start_server
await "$controller" 30 && [ "$status" -eq 0 ] &&
    [ "$(cat "$scratch/out")" = "$(cat "$scratch/9.$seed.cost")" ] &&
    await "$hand" 30 && [ "$status" -eq 0 ]
result $? "servers started by hand"

# ---- errors ----

long=32 # enough cities that no run ends during the test: 24 take seconds, and these more than a day

# at_work SERVER...: waits until each of these has connected and computes
at_work() {
    for each in "$@"; do
        wait_for 30 has_computed "$each" 10 || return 1
    done
}

# says PATTERN: whether the controller's message matches
says() {
    grep -q "^tsp: $1" "$scratch/error" && return 0
    sed 's/^/# said: /' "$scratch/error"
    return 1
}

start_by_hand 2 --cities $long --seed "$seed"
start_server
victim=$hand
start_server
at_work "$victim" "$hand"
kill -KILL "$victim"
await "$controller" 30 && [ "$status" -eq 1 ] && says "server . (process $victim) was lost"
result $? "a killed server that was started by hand: an error, soon"
await "$hand" 30 && [ "$status" -eq 1 ]
result $? "the other server ends too, with an error"

children() {
    pgrep -P "$controller" -x tsp-server
}

four_children() {
    [ "$(children | wc -l)" -eq 4 ]
}

# kill_one_child SIGNAL OPTION...: starts a long run, signals one of its servers, sets `victim` and
# `others`
kill_one_child() {
    signal=$1
    shift
    "$tsp" --cities $long --seed "$seed" "$@" >"$scratch/out" 2>"$scratch/error" &
    controller=$!
    started="$started $controller"
    wait_for 30 four_children || return 1
    # shellcheck disable=SC2046 # a word for each
    at_work $(children) || return 1
    victim=$(children | head -n 1)
    others=$(children | tail -n +2)
    kill "-$signal" "$victim"
}

none_left() {
    for process in $victim $others; do
        kill -0 "$process" 2>/dev/null && return 1
    done
    return 0
}

if command -v pgrep >/dev/null; then
    versions=2
    if long_ones; then
        versions='1 2 3'
    else
        skip "a killed server of versions 1 and 3" "takes long: only with ./dev test --all"
    fi
    for version in $versions; do
        kill_one_child KILL --version "$version" &&
            await "$controller" 30 && [ "$status" -eq 1 ] &&
            says "server . (process $victim) was lost: killed by signal 9"
        result $? "version $version, a killed server: an error, soon"
        none_left
        result $? "version $version, no server is left behind"
    done
    # The others must be done, or the silent one may be one of them: fewer cities, so that they take less than 4 s for a piece.
    kill_one_child STOP --timeout 4 --cities 22 &&
        await "$controller" 60 && [ "$status" -eq 1 ] &&
        says "server . (process $victim) has not answered for 4 s"
    result $? "a stopped server: error after the time limit"
    none_left
    result $? "no server is left behind, not even the stopped one"
else
    skip "killing servers that were spawned" "pgrep is missing"
fi

timeout 60 "$tsp" --server-program "$scratch/missing" 2>"$scratch/error"
[ $? -eq 1 ] && grep -q "cannot execute" "$scratch/error" && says "server process .* exit code 127"
result $? "a server program that is missing"

# ---- the protocol, with another peer ----

cat >"$scratch/peer.py" <<'PYTHON'
"""peer.py ROLE PORT-OR-PROGRAM: speaks the protocol of tsp.h, well or badly; exit 0 if the other
side reacts as it must."""
import itertools, os, socket, struct, subprocess, sys, time

def frame(kind, body):
    return struct.pack(">IB", 1 + len(body), kind) + body

def receive_exactly(peer, count):
    data = b""
    while len(data) < count:
        part = peer.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data

def receive(peer):
    length, = struct.unpack(">I", receive_exactly(peer, 4))
    data = receive_exactly(peer, length)
    return data[0], data[1:]

def dribble(peer, data):
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in data:
        peer.send(bytes([byte]))
        time.sleep(0.002)

def closed(peer):
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True

def server(role, port):
    peer = socket.create_connection(("127.0.0.1", int(port)), timeout=30)
    if role == "stranger":
        peer.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return closed(peer)
    dribble(peer, frame(1, struct.pack(">II", 0x54535031, os.getpid())))
    kind, matrix = receive(peer)
    if kind != 2 or len(matrix) != 1 + 4 * matrix[0] ** 2:
        return False
    kind, request = receive(peer)
    number, = struct.unpack(">I", request[:4])
    if kind != 3 or request[4:] != bytes([2, 0, 1]):
        return False
    elsewhere = struct.pack(">II", number, 1) + bytes([4, 0, 2, 3, 4])
    twice = struct.pack(">II", number, 1) + bytes([4, 0, 1, 3, 1])
    unasked = struct.pack(">II", 77, 1) + bytes([4, 0, 1, 3, 4])
    peer.sendall({
        "elsewhere": frame(4, elsewhere),
        "twice": frame(4, twice),
        "unasked": frame(4, unasked),
        "cut": frame(4, elsewhere)[:-3],
        "huge": struct.pack(">IB", 1 << 31, 4),
    }[role])
    peer.shutdown(socket.SHUT_WR)
    return closed(peer)

def controller(program):
    """Two requests in one piece, everything before byte by byte; the answers are worked out here
    by trying all tours."""
    cities = 5
    cost = [[(7 * a + 3 * b * b + 11 * a * b) % 23 + 1 for b in range(cities)]
            for a in range(cities)]
    def length(tour):
        return sum(cost[a][b] for a, b in zip(tour, tour[1:] + tour[:1]))
    listener = socket.create_server(("127.0.0.1", 0))
    child = subprocess.Popen([program, "127.0.0.1", str(listener.getsockname()[1])])
    try:
        listener.settimeout(30)
        peer, _ = listener.accept()
        peer.settimeout(30)
        kind, hello = receive(peer)
        if kind != 1 or struct.unpack(">II", hello) != (0x54535031, child.pid):
            return False
        dribble(peer, frame(2, bytes([cities]) +
                            struct.pack(">%dI" % cities ** 2, *sum(cost, []))))
        pieces = [[0, 3], [0, 1, 4]]
        peer.sendall(b"".join(frame(3, struct.pack(">IB", number, len(piece)) + bytes(piece))
                              for number, piece in enumerate(pieces)))
        for number, piece in enumerate(pieces):
            rest = [city for city in range(cities) if city not in piece]
            best = min(length(piece + list(end)) for end in itertools.permutations(rest))
            kind, reply = receive(peer)
            if kind != 4 or struct.unpack(">II", reply[:8]) != (number, best):
                return False
            if list(reply[9:9 + len(piece)]) != piece or len(reply) != 9 + reply[8]:
                return False
        peer.sendall(frame(5, b""))
        return child.wait(30) == 0
    finally:
        child.kill()
        child.wait()

role, where = sys.argv[1:]
sys.exit(0 if (controller(where) if role == "controller" else server(role, where)) else 1)
PYTHON

# peer ROLE: a controller that waits for one server gets this one
peer() {
    start_by_hand 1 --cities 6 --seed "$seed" --quiet &&
        timeout 60 python3 "$scratch/peer.py" "$1" "$port"
}

if command -v python3 >/dev/null; then
    timeout 60 python3 "$scratch/peer.py" controller "$server"
    result $? "a server answers requests that come in pieces, or two at once, exactly"

    peer stranger
    result $? "a stranger's connection is dropped"
    start_server
    await "$controller" 30 && [ "$(cat "$scratch/out")" = "$(cat "$scratch/6.$seed.cost")" ]
    result $? "a server that comes later is served"

    while read -r role words; do
        peer "$role" && await "$controller" 30 && [ "$status" -eq 1 ] && says "$words"
        result $? "a server that answers badly: $role"
    done <<'ROLES'
elsewhere a server's answer to request 0 is wrong
twice server 1 .* sent something wrong
unasked a server answered request 77
cut server 1 .* was lost: connection lost
huge server 1 .* sent something wrong
ROLES
else
    skip "the protocol" "python3 is missing"
fi

for wrong in "--cities 2" "--cities 33" "--cities x" "--servers 0" "--servers 5 --cities 4" \
    "--version 4" "--bug x" "--seed -1" "--check --cities 17" "--what" "surplus"; do
    # shellcheck disable=SC2086 # the words are options
    timeout 60 "$tsp" $wrong >"$scratch/out" 2>"$scratch/error"
    [ $? -eq 2 ] && [ ! -s "$scratch/out" ] && [ -s "$scratch/error" ]
    result $? "refuses: $wrong"
done

finish
