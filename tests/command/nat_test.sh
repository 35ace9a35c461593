#!/bin/sh
# SPDX-License-Identifier: MIT
# nat_test.sh BUILD_FOLDER: two hosts (network namespaces) and a router between them that rewrites the addresses and
# ports of both: neither knows the other's, and each has a separate recording. Receives are matched with sends all the
# same, because the sequence numbers of a connection pass unchanged.
#
#      client 10.9.8.2 ---- 10.9.8.1 router 10.9.9.1 ---- 10.9.9.2 server
#         connects to 10.9.8.1:7000                          sees 10.9.9.1, another port
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip nft python3
shift_trace=$1/tests/programs/shift
cd "$scratch" || exit 1
client=dpm-client-$$
router=dpm-router-$$
server=dpm-server-$$

remove_hosts() {
    wait
    for host in $client $router $server; do
        ip netns del $host 2> "$scratch/clean.err"
    done
    rm -rf "$scratch"
}
trap remove_hosts EXIT

# cable HOST NETWORK: between the host, NETWORK.2, and the router, NETWORK.1, which is its default route.
cable() {
    ip link add cable netns "$1" type veth peer name "to-$2" netns $router &&
        ip -n "$1" addr add "$2.2/24" dev cable && ip -n $router addr add "$2.1/24" dev "to-$2" &&
        ip -n "$1" link set lo up && ip -n "$1" link set cable up && ip -n $router link set "to-$2" up &&
        ip -n "$1" route add default via "$2.1"
}
{
    ip netns add $client && ip netns add $router && ip netns add $server &&
        cable $client 10.9.8 && cable $server 10.9.9
} 2> err || skip_all "no network of namespaces: $(cat err)"
cat > rules << 'END'
table ip rewrite {
    chain to_server {
        type nat hook prerouting priority dstnat
        tcp dport 7000 dnat to 10.9.9.2:7001
    }
    chain from_router {
        type nat hook postrouting priority srcnat
        masquerade random
    }
}
END
ip netns exec $router sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward && nft -f rules' 2> err ||
    skip_all "addresses cannot be rewritten: $(cat err)"

# Several connections in sequence and two at the same time; the server answers each message with one of twice its size.
cat > server.py << 'END'
import socket, threading
listener = socket.create_server(("10.9.9.2", 7001))
open("ready", "w").close()
def serve(connection):
    for i in range(100):
        size = 10 + i
        data = b""
        while len(data) < size:
            data += connection.recv(size - len(data))
        connection.sendall(data * 2)
    connection.close()
threads = []
for _ in range(4):
    connection, peer = listener.accept()
    print(peer[0], flush=True)
    threads.append(threading.Thread(target=serve, args=(connection,)))
    threads[-1].start()
for thread in threads:
    thread.join()
END
cat > client.py << 'END'
import socket, threading
def talk():
    connection = socket.create_connection(("10.9.8.1", 7000))
    for i in range(100):
        connection.sendall(b"x" * (10 + i))
        left = 2 * (10 + i)
        while left > 0:
            left -= len(connection.recv(left))
    connection.close()
talk()
talk()
threads = [threading.Thread(target=talk) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
record_both() {
    rm -rf server.trace client.trace ready
    ip netns exec $server timeout 60 "$dpm" run -o server.trace --kinds tcp --report server.report -- \
        python3 server.py > peers 2> server.err &
    running=$!
    wait_for 30 test -e ready
    ip netns exec $client timeout 60 "$dpm" run -o client.trace --kinds tcp -- python3 client.py > client.out 2>&1
    status=$?
    wait $running
    status="$status $?"
    "$dpm" stats --json server.trace client.trace > stats.json 2> dump.err
}
repeat record_both
check_equal "the client ends in order, and the server" "0 0" "$status"
check_equal "... which has seen the router's address alone" "4 10.9.9.1" "$(uniq -c peers | xargs)"

# whole WHAT TRACE...: every RECEIVE has edges for all its bytes to the other host, all exact.
whole() {
    about=$1
    shift
    "$dpm" dump --matched --json "$@" 2> dump.err | jq -c 'select(.event == "RECEIVE" and .bytes > 0)' > receives
    check "$about: both receive" test "$(jq -r .name receives | wc -l)" -ge 800
    check_equal "$about: every RECEIVE has edges, and all are exact" "" "$(jq -c \
        'select(.rest != null or (.edges // [] | length == 0 or any(.kind != "exact"))) |
        [.event, .pid, .sequence, .local, .remote, .edges, .rest]' receives | head -n 3)"
    check_equal "$about: ... to as many bytes as were received" "" \
        "$(jq -c 'select(([.edges[]?.bytes] | add) != .bytes) | [.pid, .sequence]' receives | head -n 3)"
    "$dpm" stats --each-connection --json "$@" > stats.json 2> stats.err
    check_equal "$about: nothing is left over" "0 0 0" "$(jq -r '.trace.matching |
        "\(.unmatched_sends) \(.unmatched_receives) \(.external)"' stats.json)"
    check_equal "$about: each connection is one path with two ends" 4 \
        "$(jq '[.paths[] | select(.kind == "tcp" and (.ends | all(. != [])))] | length' stats.json)"
}
whole "on one machine" server.trace client.trace
"$shift_trace" server.trace shifted.trace 10800
whole "on two, whose clocks differ by hours" shifted.trace client.trace

# The ptrace meter knows connections by their addresses only: both ends are recorded, neither is called unmonitored.
cat > both.sh << END
ip netns exec $server python3 server.py > peers &
until test -e ready; do sleep 0.1; done
ip netns exec $client timeout 60 python3 client.py
wait
END
rm -f ready
"$dpm" run --meter ptrace -o both.trace --report both.report -- sh both.sh > out 2> err
check_equal "ptrace: both end in order" 0 $?
"$dpm" dump --matched --json --type receive both.trace 2> dump.err | jq -c 'select(.kind == "tcp" and .bytes > 0)' > receives
check "ptrace: both receive" test "$(wc -l < receives)" -ge 800
check_equal "ptrace: no other end is found, and the records say so" not_found "$(jq -r '.rest.why' receives | sort -u)"
check "... as does the report" grep -q '^Matched receives: .*whose other end was not found' both.report
check_not "... which calls no peer unmonitored" grep -q 'unmonitored peer' both.report
finish
