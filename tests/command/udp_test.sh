#!/bin/sh
# SPDX-License-Identifier: MIT
# udp_test.sh BUILD_FOLDER: UDP: the own counts of real programs and of the kernel; two independent recordings; and a
# receiver that is too slow.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
datagrams=$1/tests/programs/datagrams
cd "$scratch" || exit 1
port=$(free_port)

# For a shell that has started the receiver at the port: waits until it is bound, without sending anything.
bound="until grep -q ':$(printf %04X "$port") .* 0[7A] ' /proc/net/udp /proc/net/udp6 /proc/net/tcp /proc/net/tcp6 ||
    ! kill -0 \$!; do sleep 0.05; done"

# sum FILE FILTER: count and bytes of the records that the filter selects.
sum() {
    jq -r -s "[.[] | select($2)] | \"\(length) \([.[].bytes] | add // 0)\"" "$1"
}

# ---- one recording of programs that run one after the other ----

# A file of many pieces over a UNIX socket, in one call; then three datagrams: separate messages.
cat > mixed.sh << 'END'
exec python3 -c '
import os, socket, tempfile
to, at = socket.socketpair()
file = tempfile.TemporaryFile()
file.write(bytes(300000))
file.flush()
if os.fork() == 0:
    at.recv(300000, socket.MSG_WAITALL)
    os._exit(0)
left = 300000
while left > 0:
    left -= os.sendfile(to.fileno(), file.fileno(), 300000 - left, left)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for size in 1, 2, 3:
    sender.sendto(bytes(size), receiver.getsockname())
    receiver.recv(10)
'
END
all=mixed

# A real program.
if command -v iperf3 > /dev/null; then
    cat > iperf.sh << END
iperf3 -s -1 -p $port -J > server.json & $bound
timeout 60 iperf3 -c 127.0.0.1 -p $port -u -b 50M -l 1000 -t 1 -J > client.json
wait
END
    all="$all iperf"
fi

# A listener to all packets: a buffer is then cloned on its way; numbers must still be right. Datagrams of one size over
# IPv6, which have no number of their own, and of different sizes over IPv4.
cat > listener.py << 'END'
import os, socket, sys, time
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
open("listening", "w").close()
parent = os.getppid()
while sys.argv[1:] and os.getppid() == parent:
    time.sleep(0.5)
END
if python3 listener.py 2> listener.err; then
    cat > tapped.sh << END
rm -f listening
python3 listener.py stay & listener=\$!
until [ -e listening ]; do sleep 0.05; done
for address in 127.0.0.1 ::1; do
    '$datagrams' receive \$address $port 0 /dev/null 1000000 > tapped.receiver & $bound
    '$datagrams' send \$address $port 300 500 1 > tapped.sender
    wait \$!
done
kill \$listener # not in what follows
END
    all="$all tapped"
fi

# A receiver that is too slow.
cat > slow.sh << END
'$datagrams' receive 127.0.0.1 $port 50 > receiver & $bound
'$datagrams' send 127.0.0.1 $port 4000 900 0 > sender
wait
END
all="$all slow"

# Datagrams that the receiver does not want: its socket filter (classic BPF) accepts those above 100 bytes. Those that it
# refuses found no full queue.
cat > choosy.py << 'END'
import ctypes, socket, struct
SO_ATTACH_FILTER = 26
length, more_than_100, accept, refuse = (0x80, 0, 0, 0), (0x25, 0, 1, 108), (6, 0, 0, 65535), (6, 0, 0, 0)
program = b"".join(struct.pack("HBBI", *line) for line in (length, more_than_100, accept, refuse))
memory = ctypes.create_string_buffer(program)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 4, ctypes.addressof(memory)))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(receiver.getsockname())
for size in 50, 200, 60, 300, 100, 101:
    sender.send(bytes(size))
print(*(len(receiver.recv(1000)) for _ in range(3)))
END
if python3 choosy.py > choosy.sizes 2> choosy.err; then
    echo 'exec python3 choosy.py > choosy.sizes' > choosy.sh
    all="$all choosy"
fi

# Several receivers: three processes listen; each prints the sizes that it receives. All sizes differ.
cat > listeners.py <<'END'
import os, socket, struct, sys
group, port, count = sys.argv[1], int(sys.argv[2]), 20
ready, steady = os.pipe()
for listener in range(3):
    if os.fork() == 0:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        receiver.bind(("", port))
        if group.startswith("2"):
            receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                                struct.pack("4s4s", socket.inet_aton(group), socket.inet_aton("127.0.0.1")))
        os.write(steady, b".")
        os.write(1, b"".join(b"%d\n" % len(receiver.recv(1000)) for _ in range(count)))
        os._exit(0)
for listener in range(3):
    os.read(ready, 1)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
for size in range(count):
    sender.sendto(bytes(100 + size), (group, port))
for listener in range(3):
    os.wait()
END
for group in 239.77.0.1 127.255.255.255; do
    if timeout 60 python3 listeners.py $group "$port" > many-$group.sizes 2> many-$group.err; then
        echo "exec timeout 60 python3 listeners.py $group $port > many-$group.sizes" > many-$group.sh
        all="$all many-$group"
    fi
done

# A full queue; the programs log the number of each datagram.
for address in 127.0.0.1 ::1; do
    cat > full-$address.sh << END
'$datagrams' receive $address $port 2000 received-$address.log 5000 > receiver-$address & $bound
'$datagrams' send $address $port 1000 400 20 sent-$address.log > sender-$address
wait
END
    all="$all full-$address"
done

# Sends that are segmented into datagrams. The kernel gives such a send one identification, and the next send the following
# one: on IPv4 numbers repeat. Each message begins with its number, which is printed when it is received.
cat > cut.py << 'END'
import socket, struct, sys
family, address, room, ahead = socket.AF_INET6 if sys.argv[1] == "::1" else socket.AF_INET, *sys.argv[1:]
receiver = socket.socket(family, socket.SOCK_DGRAM)
if int(room):
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(room))
receiver.bind((address, 0))
receiver.settimeout(0.05)
sender = socket.socket(family, socket.SOCK_DGRAM)
sender.connect(receiver.getsockname())
sender.setsockopt(socket.IPPROTO_UDP, 103, 300)  # UDP_SEGMENT
for i in range(12):
    sender.send(b"".join(struct.pack("I", i * 20 + k).ljust(300) for k in range(20)))
    if i % int(ahead) != int(ahead) - 1:
        continue
    try:
        while True:
            print(struct.unpack("I", receiver.recv(1000)[:4])[0])
    except socket.timeout:
        pass
END
echo 'exec python3 cut.py 127.0.0.1 0 4 > cut-4.log' > cut-4.sh
echo 'exec python3 cut.py ::1 0 4 > cut-6.log' > cut-6.sh
echo 'exec python3 cut.py 127.0.0.1 2304 1 > cut-dropped.log' > cut-dropped.sh
all="$all cut-4 cut-6 cut-dropped"

record_all() {
    rm -rf all.trace ./*.log
    # shellcheck disable=SC2086 # a word for each
    in_parts $all -- --kinds tcp,udp,unix --flags all --ring 64M --wait -o all.trace > out 2> err
    "$dpm" dump --type end all.trace > end 2> dump.err
}
repeat record_all
! grep -q 'UDP is not metered' err || skip_all "$(grep -m 1 'UDP is not metered' err)"
check_equal "all programs end in order" "" "$(grep -vx 0 ./*.status)"
check_equal "no record is lost" "" "$(grep lost dump.err)"

# records PART: into PART.json, with edges. figures PART: dpm stats of the part, into PART.stats.
records() {
    part all.trace "$1"
    # shellcheck disable=SC2086 # a word for each
    "$dpm" dump --matched --json $part all.trace > "$1.json" 2> dump.err
}
figures() {
    part all.trace "$1"
    # shellcheck disable=SC2086 # a word for each
    "$dpm" stats --each-connection --json $part all.trace > "$1.stats" 2> stats.err
}

# is_part PART: whether this program could run here
is_part() {
    case " $all " in *" $1 "*) return ;; esac
    return 1
}

records mixed
check_equal "datagrams after a sendfile call do not continue it" "true [1,2,3] []" "$(jq -r -s 'sort_by(.time_ns) |
    [.[] | select(.event == "SEND")] |
    "\(any(.continued)) \([.[] | select(.kind == "udp").bytes] | tojson) \(
        [.[] | select(.kind == "udp" and .continued)] | tojson)"' mixed.json)"

if is_part iperf; then
    records iperf
    figures iperf
    # First, one datagram of 4 bytes goes each way.
    check_equal "iperf3: datagrams and bytes sent are those that it says" \
        "$(jq -r '"\(.end.sum_sent.packets + 2) \(.end.sum_sent.bytes + 8)"' client.json)" \
        "$(sum iperf.json '.kind == "udp" and .event == "SEND"')"
    check_equal "... and bytes received" \
        "$(jq -r '.end.sum_received.bytes + 8' server.json)" \
        "$(sum iperf.json '.kind == "udp" and .event == "RECEIVE"' | cut -d ' ' -f 2)"
    # Its server misses those before the last one that it has received; some of those after it may be in its queue.
    missed=$(jq -r .end.sum.lost_packets server.json)
    behind=$(($(jq -r .end.sum_sent.packets client.json) - $(jq -r .end.sum.packets server.json)))
    dropped=$(jq -r .trace.dropped iperf.stats)
    check "what iperf3 misses was dropped: $missed, and none to $behind more ($dropped)" \
        awk "BEGIN { exit !($dropped >= $missed && $dropped <= $missed + $behind) }"
else
    skip "the figures of iperf3" "it is not installed"
fi

if is_part tapped; then
    records tapped
    check_equal "with a listener to all packets numbers agree, 127.0.0.1 and ::1" "[300,300,0]" "$(jq -c -s '
        map(select(.event == "SEND") | "\(.local) \(.offset) \(.bytes)") as $sent |
        map(select(.event == "RECEIVE") | "\(.remote) \(.offset) \(.bytes)") as $received |
        ($received | map(startswith("[")) | map(select(.)) | length) as $six |
        [($received | length) - $six, $six, ($received - $sent | length)]' tapped.json)"
else
    skip "with a listener to all packets numbers agree" "a packet socket is not allowed here"
fi

# ---- a receiver that is too slow ----

records slow
figures slow
check_equal "what was sent to it is what it says" "$(cat sender)" \
    "$(sum slow.json '.event == "SEND"' | sed 's/^/sent /; s/ \([0-9]*\)$/ bytes \1/')"
check_equal "received and dropped are what it and the kernel say" "$(cat receiver)" \
    "$(sum slow.json '.event == "RECEIVE"' | sed 's/^/received /; s/ \([0-9]*\)$/ bytes \1/') dropped $(
        jq -r .trace.dropped slow.stats)"
check "some were dropped" test "$(jq -r .trace.dropped slow.stats)" -gt 0
check_equal "received and dropped are all that was sent, on each path" "[0,0]" "$(jq -c -s '
    (map(select(.event == "RECEIVE") | .remote) | group_by(.) | map({key: .[0], value: length})
        | from_entries) as $received
    | $stats[0].paths | map(.sent.messages - .dropped - $received[.local])' \
    --slurpfile stats slow.stats slow.json)"
check_equal "every datagram received has the number and size it was sent with" 0 "$(jq -s '
    (map(select(.event == "SEND") | {key: "\(.local) \(.offset)", value: .bytes}) | from_entries)
        as $sent
    | map(select(.event == "RECEIVE" and $sent["\(.remote) \(.offset)"] != .bytes)) | length' slow.json)"
check "the table reports what was dropped" sh -c "'$dpm' stats all.trace | grep -q 'queue full'"

# ---- datagrams that the receiver does not want ----

if is_part choosy; then
    records choosy
    figures choosy
    check_equal "a receiver with a filter gets what it wants" "200 300 101" "$(cat choosy.sizes)"
    check_equal "... as the trace says" "200 300 101" \
        "$(jq -s -r 'sort_by(.time_ns)[] | select(.event == "RECEIVE" and .kind == "udp").bytes' choosy.json | paste -sd ' ')"
    check_equal "... what it refuses is no full queue" "0 3" "$(jq -r '.trace | "\(.dropped) \(.refused)"' choosy.stats)"
    check_equal "... each receive leads to its send" 3 "$(jq -s '[.[] | select(.event == "RECEIVE" and .kind == "udp" and
        .edges[0].kind == "exact" and .edges[0].bytes == .bytes)] | length' choosy.json)"
else
    skip "a receiver with a filter" "python3: $(head -n 1 choosy.err)"
fi

# ---- several receivers ----

for group in 239.77.0.1 127.255.255.255; do
    if ! is_part many-$group; then
        skip "$group: each of three receivers" "python3: $(head -n 1 many-$group.err)"
        continue
    fi
    records many-$group
    check_equal "$group: each of three receivers gets every datagram" 60 "$(wc -l < many-$group.sizes)"
    check_equal "... as the trace says" "$(sort many-$group.sizes)" \
        "$(jq -r 'select(.event == "RECEIVE" and .kind == "udp").bytes' many-$group.json | sort)"
    check_equal "... and each receive leads to the one send of that size" 60 "$(jq -s '
        (map(select(.event == "SEND" and .kind == "udp") | {key: "\(.stream) \(.sequence)", value: .bytes}) | from_entries) as $sent
        | [.[] | select(.event == "RECEIVE" and .kind == "udp" and (.edges | length) == 1
            and .edges[0].kind == "exact" and $sent["\(.edges[0].stream) \(.edges[0].sequence)"] == .bytes)]
        | length' many-$group.json)"
done

# ---- the source of each received datagram ----

# Each datagram contains its number, so both programs know which they have sent and received. The n-th SEND of the
# sender is the n-th line of its log; an edge must lead to the one whose number was received.
cat > edges.jq << 'END'
($sent | split("\n") | map(select(. != ""))) as $sent |
($received | split("\n") | map(select(. != ""))) as $received |
sort_by(.time_ns) | [.[] | select(.event == "SEND")] as $sends |
($sends | to_entries | map({key: "\(.value.stream) \(.value.sequence)", value: $sent[.key]}) | from_entries) as $number |
[.[] | select(.event == "RECEIVE")] as $receives |
{
    logged: (($sends | length) == ($sent | length) and ($receives | length) == ($received | length)),
    received: ($receives | length),
    not_exact: [$receives[] | select([.edges[]? | .kind] != ["exact"])] | length,
    wrong: [$receives | to_entries[] | select([.value.edges[]? | $number["\(.stream) \(.sequence)"]] !=
        [$received[.key]])] | length
}
END
for address in 127.0.0.1 ::1; do
    records full-$address
    jq -s -f edges.jq --rawfile sent sent-$address.log --rawfile received received-$address.log full-$address.json > edges.json
    check "a full queue, $address: each SEND and RECEIVE is one of the programs' own" jq -e '.logged and .received > 5' edges.json
    check_equal "... each RECEIVE has one edge, and it is exact" 0 "$(jq .not_exact edges.json)"
    check_equal "... it leads to the SEND of the number that was received" 0 "$(jq .wrong edges.json)"
    dropped=$(sed 's/.*dropped //' receiver-$address)
    check "... (some were dropped)" test "$dropped" -gt 20
    check_equal "... no edge leads to as many as the kernel has dropped" "$dropped" "$(jq -s '
        ([.[].edges[]? | select(.event == "SEND") | "\(.stream) \(.sequence)"] | unique | length) as $received |
        [.[] | select(.event == "SEND")] | length - $received' full-$address.json)"
done

# ---- sends that are segmented into datagrams ----

# cut PART: whether all datagrams that were received are recorded, of which kinds their edges are, and how many lead to
# another datagram.
cut() {
    records "$1"
    jq -r -s --rawfile log "$1.log" 'sort_by(.time_ns) |
        ($log | split("\n") | map(select(. != "") | tonumber)) as $number |
        ([.[] | select(.event == "SEND" and .kind == "udp")] | to_entries |
            map({key: (.value.sequence | tostring), value: .key}) | from_entries) as $sent |
        [.[] | select(.event == "RECEIVE" and .kind == "udp")] | to_entries |
        map({kinds: [.value.edges[]?.kind], right: ([.value.edges[]? | $sent[.sequence | tostring]] == [$number[.key]])}) |
        "\(length == ($number | length)) \(map(.kinds) | unique | tojson) wrong \(map(select(.right | not)) | length)"' "$1.json"
}
check_equal "sends cut into datagrams, several under way: each RECEIVE leads to its own" \
    'true [["inferred"]] wrong 0' "$(cut cut-4)"
check_equal "... over IPv6, too, where numbers are counted" 'true [["exact"]] wrong 0' "$(cut cut-6)"
check_equal "... also if most of each are dropped" 'true [["inferred"]] wrong 0' "$(cut cut-dropped)"
check "... (they were)" test "$(wc -l < cut-dropped.log)" -lt 200
"$dpm" stats --json all.trace > all.stats 2> stats.err

# iperf3's server may end with datagrams in its queue: at most those that it has not counted
is_part iperf || behind=0
left=$(jq '.trace | .matching.unmatched_sends - .dropped - .refused' all.stats)
check "of all that was dropped or refused the sends are unmatched, and those left in a queue ($left of $behind)" \
    test "$left" -ge 0 -a "$left" -le "$behind"
check_equal "... and no receive is" 0 "$(jq .trace.matching.unmatched_receives all.stats)"

# ---- two recordings, joined by the packets alone ----

east=dpm-east-$$
west=dpm-west-$$
ip netns add $east 2> err && ip netns add $west 2>> err &&
    ip link add dpm-link netns $east type veth peer name dpm-link netns $west 2>> err
ready=$?
trap 'ip netns del $east; ip netns del $west; rm -rf "$scratch"' EXIT

# place NAMESPACE NUMBER: gives its end of the link addresses.
place() {
    ip -n "$1" address add "10.77.0.$2/24" dev dpm-link &&
        ip -n "$1" address add "fd77::$2/64" dev dpm-link nodad &&
        ip -n "$1" link set dpm-link up && ip -n "$1" link set lo up
}

# talk NAME ADDRESS: west sends to east, with separate recordings; NAME-east.json has what east received, NAME-west.json
# what west sent. The first datagrams find no receiver.
talk() {
    "$dpm" run --kinds udp -o "$1-west.trace" -- ip netns exec $west sh -c "
        '$datagrams' send $2 $port 6 10 0 > /dev/null
        touch $1-ready
        while [ ! -e $1-go ]; do sleep 0.05; done
        '$datagrams' send $2 $port 300 3000 500" > "$1-west.out" 2> err.west &
    sender=$!
    wait_for 30 test -e "$1-ready"
    timeout 60 "$dpm" run --kinds udp -o "$1-east.trace" -- ip netns exec $east sh -c "
        '$datagrams' receive $2 $port 0 & $bound; touch $1-go; wait" > "$1-east.out" 2> err.east
    wait $sender
    for side in west east; do
        "$dpm" dump --json "$1-$side.trace" > "$1-$side.json" 2> dump.err
    done
}

# messages FILE EVENT: the last 300 by path, each with its number and size.
messages() {
    jq -r -s "[.[] | select(.event == \"$2\" and .kind == \"udp\")][-300:][]
        | \"\(if .event == \"SEND\" then .local else .remote end) \(.offset) \(.bytes)\"" "$1" | sort
}

if [ $ready = 0 ] && place $east 1 && place $west 2; then
    versions=4
    if long_ones; then
        versions="4 6"
    else
        skip "IPv6 between two namespaces" "takes long: only with ./dev test --all"
    fi
    for version in $versions; do
        address=10.77.0.1
        [ $version = 4 ] || address=fd77::1
        for try in 1 2 3; do # on a busy machine the kernel drops some, as the receiver says
            rm -rf v$version-*
            talk v$version $address
            grep -q ' dropped 0$' v$version-east.out && break
            sed "s/^/# try $try: /" v$version-east.out
        done
        check_equal "IPv$version between two namespaces: everything sent is received" 300 \
            "$(messages v$version-east.json RECEIVE | wc -l)"
        check_equal "... as those who sent and received it say" \
            "$(sed 's/sent/received/; s/$/ dropped 0/' v$version-west.out)" "$(cat v$version-east.out)"
        messages v$version-west.json SEND > sent
        messages v$version-east.json RECEIVE > received
        check "... with the numbers and sizes it was sent with, fragments or not" cmp sent received
        check_equal "the two recordings are joined" 2 "$("$dpm" stats --each-connection --json \
            v$version-west.trace v$version-east.trace | jq '[.paths[] | select(.kind == "udp" and .ends[0] != []
                and .ends[1] != [])] | length')"
    done
else
    skip "UDP between two namespaces" "they cannot be made: $(head -n 1 err)"
fi

# ---- more paths than the meter has room for ----

# as the meter: one for each 256 KiB of memory
room=65536
memory=$(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE)))
while [ $((room * 2 * 256 * 1024)) -le $memory ]; do
    room=$((room * 2))
done
sent=$((room + 10000))
cat > many.py << 'END'
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[1])):
    sender.sendto(b"x", ("127.%d.%d.%d" % (1 + (i >> 16), i >> 8 & 255, i & 255), 9))
END
send_to_many() {
    rm -rf many.trace
    "$dpm" run -o many.trace --kinds udp --flags send --ring 128M -- python3 many.py $sent > out 2> err
    "$dpm" dump --json --type send,lost,end many.trace > many.json 2> dump.err
}
if [ $room -le 131072 ]; then
    repeat send_to_many
    pathless=$(jq -s '[.[] | select(.event == "LOST" and .reason == 3) | .count] | add // 0' many.json)
    lost=$(jq -s '.[-1].lost' many.json)
    check "datagrams to more addresses than the meter has room for are lost" test "$pathless" -gt 5000
    check_equal "... recorded + lost = sent" $sent "$(jq -s '[.[] | if .event == "SEND" then 1
        elif .event == "LOST" and .ring == 1 and .reason != 2 then .count else 0 end] | add' many.json)"
    check_equal "... LOST records count as many as the end does" "$lost" "$(jq -s '[.[] | select(.event == "LOST") | .count] | add' many.json)"
    check "... and dpm run" grep -q "^dpm: [0-9]* records, $lost lost, in " err
    check "... which says why" grep -q "^dpm: $pathless messages or uses of files are lost: there was no memory for their connections or files" err
    check_not "... a larger ring is not recommended" grep -q 'a buffer was full' err
else
    skip "more datagrams than the meter has room for" "this machine has so much memory that it takes long"
fi
finish
