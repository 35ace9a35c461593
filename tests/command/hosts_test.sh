#!/bin/sh
# SPDX-License-Identifier: MIT
# hosts_test.sh BUILD_FOLDER: two hosts (network namespaces) with separate recordings, the clock of one shifted by
# hours: receives are matched with sends as if there were no difference, and the messages show the clock difference.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/two_hosts.sh"
need_meter
need_programs ip python3
shift_trace=$1/tests/programs/shift
cd "$scratch" || exit 1
two_hosts 10.9.7

# TCP and UDP: the server answers each message with one of twice its size.
cat > server.py << 'END'
import socket
listener = socket.create_server(("10.9.7.2", 7000))
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(("10.9.7.2", 7001))
open("ready", "w").close()
connection, _ = listener.accept()
for i in range(300):
    size = 10 + i
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    connection.sendall(data * 2)
for i in range(100):
    data, peer = datagrams.recvfrom(1000)
    datagrams.sendto(data * 2, peer)
END
cat > client.py << 'END'
import socket
connection = socket.create_connection(("10.9.7.2", 7000))
for i in range(300):
    connection.sendall(b"x" * (10 + i))
    left = 2 * (10 + i)
    while left > 0:
        left -= len(connection.recv(left))
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.connect(("10.9.7.2", 7001))
for i in range(100):
    datagrams.send(b"y" * (10 + i))
    datagrams.recv(1000)
END
record_both() {
    rm -rf server.trace client.trace ready
    ip netns exec $there timeout 60 "$dpm" run -o server.trace --kinds tcp,udp -- python3 server.py > server.out 2>&1 &
    server=$!
    wait_for 30 test -e ready
    ip netns exec $here timeout 60 "$dpm" run -o client.trace --kinds tcp,udp -- python3 client.py > client.out 2>&1
    status=$?
    wait $server
    status="$status $?"
    "$dpm" stats --json server.trace client.trace > stats.json 2> dump.err
}
repeat record_both
check_equal "the client ends in order, and the server" "0 0" "$status"

# matched TRACE...: for each receive, the sends whose bytes it took: process, number and bytes. The file order gets all
# messages in causal order: those of TCP, and those of UDP.
matched() {
    "$dpm" dump --matched --json "$@" 2> dump.err > dump.json
    jq -c 'select(.event == "RECEIVE" and .bytes > 0) |
        [.pid, .sequence, .bytes, [.edges[]? | [.kind, .stream, .sequence, .bytes]], .rest]' dump.json | sort
    jq -r 'select((.event == "RECEIVE" or .event == "SEND") and .bytes > 0) |
        "\(.event) \(.pid) \(.sequence)"' dump.json > order
}
matched server.trace client.trace > same
cp order same-order
check "both see each other's messages" test "$(wc -l < same)" -ge 800
check_equal "of one machine every edge is exact, and every RECEIVE has one" "" \
    "$(jq -c 'select(.[4] != null or (.[3] | length == 0 or any(.[0] != "exact")))' same | head -n 3)"
for hours in 3 7000; do
    rm -rf shifted.trace
    check "the server's clock is $hours hours ahead" "$shift_trace" server.trace shifted.trace $((hours * 3600))
    matched shifted.trace client.trace > shifted
    check_equal "... receives are tied to the same sends" "" "$(diff same shifted | head -n 5)"
    check_equal "... in the same order" "" "$(diff same-order order | head -n 5)"
    matched client.trace shifted.trace > shifted
    check_equal "... in whatever order the traces are given" "" "$(diff same shifted | head -n 5)"
    check_equal "... and that of the messages is the same" "" "$(diff same-order order | head -n 5)"
    "$dpm" stats --json client.trace shifted.trace > stats.json 2> stats.err
    check "... nothing is left over" jq -e '.trace.matching |
        .unmatched_sends == 0 and .unmatched_receives == 0 and .external == 0' stats.json
    check "... the clocks are $hours hours apart, within the reported error, which is less than a second" \
        jq -e --argjson shift $((hours * 3600000000000)) '.trace.clocks as [$first, $second] | .trace.clocks |
        length == 2 and ($first | .offset_ns == 0 and .ahead_ns == 0 and .error_ns == 0) and
        ($second | .error_ns > 0 and .error_ns < 1000000000 and
            (.ahead_ns - $shift | fabs) <= .error_ns and (.offset_ns + $shift | fabs) <= .error_ns)' stats.json
    "$dpm" stats client.trace shifted.trace > stats.out 2> stats.err
    check "... and the statistics say so" grep -Eq "^The clock of .* is .* ahead of that of .*, to within .*s\.$" stats.out
    "$dpm" report client.trace shifted.trace > report.out 2> report.err
    check_equal "... and the report" "$(grep "^The clock of" stats.out)" "$(grep "^The clock of" report.out)"
    check_equal "... a second of recording is no hours" "true true" \
        "$("$dpm" stats --json --every 10ms client.trace shifted.trace 2> /dev/null | jq -r '
            "\(.trace.duration_ns < 100e9) \(.intervals | length < 9000 and (map(.messages) | add) >= 800)"')"
    "$dpm" graph --format dot --most 100000 client.trace shifted.trace > graph.dot 2> graph.err
    check "... the whole graph lies within a minute" awk -v whole="$(grep -o "from [-0-9.]* s to [0-9.]* s" graph.dot)" \
        'BEGIN { split(whole, word, " "); exit !(word[5] > 0 && word[5] - word[2] < 60) }'
    check "... messages took no hours from host to host" jq -e '
        [.pairs[].delivery_ns | values] | length >= 2 and all(.p50 < 1000000000)' stats.json
done
finish
