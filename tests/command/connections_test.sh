#!/bin/sh
# SPDX-License-Identifier: MIT
# connections_test.sh BUILD_FOLDER: connections as they are made, compared with what a program prints that makes them:
# used and unused ones, refused, given up and timed out; who accepted which; listeners.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
connecting=$1/tests/programs/connecting
cd "$scratch" || exit 1

# The program's own account and the recorded one, in the same lines.
recorded() {
    jq -r 'def port: split(":") | last;
        select(.kind == "tcp") |
        if .event == "CONNECT" then "connect \(.local | port)"
        elif .event == "CONNECTFAILED" then "fail \(.error) \(.remote | port)"
        elif .event == "ACCEPT" then "accept \(.pid) \(.remote | port)"
        elif .event == "PATH" and .role == 5 then "listen \(.local_port)"
        else empty end' "$1" | sort
}

# record ARGUMENT...: dpm run, with the program's account in the file log.
record() {
    rm -rf trace
    "$@" --report report -o trace -- "$connecting" "$waits" > log 2> err
    status=$?
    [ $status -eq 99 ] && return
    "$dpm" dump --json trace > dump.json 2> dump.err
    # The program makes and ends all its connections while it is metered: a path that is older, has a message and no beginning, or has no
    # end, shows that this passed by the meter. Kernels that keep programs away from certain processes do so in an interrupt, too,
    # and count nothing: for some 100 us, nothing of what one processor receives is seen. A fault of the meter would show in all
    # three tries.
    passed=$(jq -s '(any(.[]; .event == "DESTROYPATH")) as $ends_are_told | map(select(.kind == "tcp" and .path != null)) | group_by(.path) |
        map(select(any(.older) or (map(.event) |
            (any(. == "SEND" or . == "RECEIVE") and index("CONNECT") == null and index("ACCEPT") == null) or
            ($ends_are_told and index("PATH") != null and index("DESTROYPATH") == null)))) | length' dump.json)
    [ "${passed:-0}" = 0 ] ||
        echo "the kernel skipped hooks, without a count: the beginning or end of $passed connections passed by" >> dump.err
    return 0
}

# compare LOG TYPE...: these types agree.
compare() {
    recorded dump.json > found
    log=$1
    shift
    for type in "$@"; do
        check_equal "... $type: as the program says" \
            "$(sed -n "s/^\($type [0-9]* *[0-9]*\).*/\1/p" "$log" | words_of "$type" | sort)" \
            "$(grep "^$type " found)"
    done
}

# Of a connect only the port is compared.
words_of() {
    case $1 in connect | listen) cut -d ' ' -f 1,2 ;; *) cat ;; esac
}

# What must hold of any recording of the program.
look() {
    trace=$1 log=$2
    check_equal "... no record is lost" "" "$(grep lost dump.err)"
    # each connect was called between the times that the program has taken; ports may be used twice
    sed -n 's/^connect \([0-9]*\) \([0-9]*\) \([0-9]*\)/\1 \2 \3/p' "$log" |
        jq -R 'split(" ") | {port: .[0], before: (.[1] | tonumber), after: (.[2] | tonumber)}' | jq -s . > called.json
    check_equal "... time - span of CONNECT is when connect was called" "[]" \
        "$(jq -c --slurpfile called called.json -s 'map(select(.event == "CONNECT" and .kind == "tcp")) |
            map((.local | split(":") | last) as $port | (.time_ns - .span_ns) as $when |
                select(any($called[0][]; .port == $port and .before <= $when and $when <= .after) | not)) | .[:3]' \
            dump.json)"
    jq -c -s '(map(select(.kind == "tcp")) | (map(select(.event == "PATH").path) | unique) as $made |
            map(select(.event == "DESTROYPATH").path) as $ended | [$made - $ended, ($ended | group_by(.) |
            map(select(length > 1)))] | flatten),
        (map(select(.sequence != null)) | group_by(.stream) |
            map(map(.sequence) | select(. != [range(length)])) | .[:1]),
        (map(select(.kind == "tcp" and .stream != 0)) | group_by(.path) |
            map(map(.event) | select(any(. == "SEND" or . == "RECEIVE")) |
                select(index("CONNECT") == null and index("ACCEPT") == null or
                    (index("SEND") // 99) < (index("CONNECT") // index("ACCEPT")))))' dump.json > wrong
    { read -r unended && read -r gaps && read -r early; } < wrong
    check_equal "... every path of TCP ends, once" "[]" "$unended"
    check_equal "... a stream's records have no gaps" "[]" "$gaps"
    check_equal "... CONNECT and ACCEPT come before the first message" "[]" "$early"
    "$dpm" stats --json "$trace" > stats.json 2> stats.err
    check_equal "... dpm stats counts the unused ones, those that failed, by reason, and listeners are no connections" \
        "$(awk '{ count[$1]++ } /^unused / { unused = $2 } /^fail / { reason[$2]++ }
            END { printf "%d unused; %d failed: %d %d %d 0; %d connections\n", unused, count["fail"], reason[111], reason[110],
                reason[125], count["connect"] }' "$log")" \
        "$(jq -r '(.failures | "\(map(.refused) | add) \(map(.timed_out) | add) \(map(.given_up) | add) \(map(.other) | add)") as $reasons |
            "\(.trace.unused) unused; \(.trace.failed_connections) failed: \($reasons); \(
                [.paths[] | select(.kind == "tcp").connections] | add) connections"' stats.json)"
}

found=$meter
for meter in kernel ptrace; do
    if [ $meter = kernel ] && [ "$found" != kernel ]; then
        skip "$meter meter: connections as the program made them" "it does not run here"
        continue
    fi
    waits=1
    repeat record "$dpm" run --meter $meter
    check_equal "$meter meter: the program ends in order" 0 $status
    check "$meter meter: a program makes connections" grep -q "^unused " log
    compare log connect fail accept listen
    look trace log
    check "... dpm report tells of them" sh -c "'$dpm' report trace | tr -s ' \n' ' ' | grep 'failed to connect to 127'"
done

# The packets of a loopback whose packets another processor receives: outcomes are found while their stream does
# something else.
cat > elsewhere.sh << 'END'
mount -t sysfs sysfs /sys && ip link set lo up && echo 2 > /sys/class/net/lo/queues/rx-0/rps_cpus || exit 99
exec taskset 1 "$@"
END
if long_ones; then
    set -- all all,-receivecall,-sendcall,-block,-startprocess,-stopprocess
else
    set -- all,-receivecall,-sendcall,-block,-startprocess,-stopprocess
    skip "kernel meter, packets on another processor, all flags" "takes long: only with ./dev test --all"
fi
for flags in "$@"; do
    waits=1
    repeat record unshare -n -m sh elsewhere.sh "$dpm" run --meter kernel --flags $flags
    if [ $status -eq 99 ]; then
        skip "kernel meter, packets on another processor" "$(tail -n 1 err)"
        continue
    fi
    check_equal "kernel meter, packets on another processor: the program ends in order" 0 $status
    check "kernel meter, packets on another processor: a program makes connections" grep -q "^unused " log
    compare log connect fail accept listen
    look trace log
done

# the same socket fails again and again: no route, no such name
cat > failing.py << 'END'
import socket
for family, address in (socket.AF_INET, ("192.0.2.1", 9)), (socket.AF_UNIX, "no-such-name"):
    tries = socket.socket(family)
    for i in range(5):
        assert tries.connect_ex(address) != 0
END
program=$connecting waits=failing.py connecting=python3
repeat record unshare -n "$dpm" run --meter kernel --kinds tcp,unix,pipe --flags receive,connectfailed
check_equal "a socket whose connect() fails five times, of two kinds: each is recorded" "5 tcp 5 unix-stream" \
    "$(jq -r 'select(.event == "CONNECTFAILED").kind' dump.json | sort | uniq -c | xargs)"
connecting=$program

# connections that the other end resets before their first byte; without pipes, so that the end of accept is not seen
cat > reset.py << 'END'
import select, socket, struct, threading, time
listener = socket.create_server(("127.0.0.1", 0))
failed = []
def fails(call):
    try:
        call()
    except ConnectionError as error:
        failed.append(error)
def connection(use, begins_before):
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    user = threading.Thread(target=fails, args=(lambda: use(server),))
    if begins_before:
        user.start()
        while not open(f"/proc/self/task/{user.native_id}/syscall").read().startswith("45 "):  # it waits in recvfrom
            pass
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    if not begins_before:
        waits = select.poll()
        waits.register(server)
        while not any(what & select.POLLHUP for _, what in waits.poll(100)):
            pass
        user.start()
    user.join()
    server.close()
connection(lambda server: server.recv(1), True)
connection(lambda server: server.recv(1), False)
connection(lambda server: server.send(b"a"), False)
assert len(failed) == 3
END
if [ "$found" = kernel ]; then
    program=$connecting waits=reset.py connecting=python3
    repeat record "$dpm" run --meter kernel --kinds tcp
    check_equal "connections that are reset before their first byte: the program ends in order" 0 $status
    check "... one while a thread waits for that" jq -e -s 'any(.[]; .event == "RECEIVECALL" and .kind == "tcp")' dump.json
    check_equal "... both ends of each and the listener are recorded, accepted and closed" "[7,3,3,7]" \
        "$(jq -c -s 'map(select(.kind == "tcp")) | [(map(select(.event == "PATH").path) | unique | length),
            (map(select(.event == "CONNECT")) | length), (map(select(.event == "ACCEPT")) | length),
            (map(select(.event == "DESTROYPATH").path) | unique | length)]' dump.json)"
    connecting=$program
else
    skip "connections that are reset before their first byte" "the kernel meter does not run here"
fi

# sockets that are never used, and others in the same program
cat > unused.py << 'END'
import socket
unused = [socket.socket(family, kind) for family, kind in (
    (socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET6, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_STREAM)) for i in range(5)]
unused += socket.socketpair()
for i in range(20):  # one after the other, of which each may be where the one before it was
    socket.socket().close()
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
client.send(b"abc")
server.recv(3)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(b"abc", receiver.getsockname())
receiver.recv(3)
one, other = socket.socketpair()
one.send(b"abc")
other.recv(3)
refused = socket.socket()
assert refused.connect_ex(("127.0.0.1", 1)) != 0
nowhere = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
assert nowhere.connect_ex("/nowhere") != 0
END
rm -rf trace
if unshare -n sh -c 'ip link set lo up && exec "$@"' sh "$dpm" run --meter kernel --kinds tcp,udp,unix,pipe -o trace \
    -- python3 unused.py > out 2> err; then
    "$dpm" dump --json trace > dump.json 2> dump.err
    jq -rs 'group_by(.path // 0)[] | select(any(.event == "CREATEPATH")) |
        "\(map(select(.event == "PATH"))[-1] | if .unused then "unused \(.kind)" else "used \(.kind)" end) \(
            map(select(.event == "CREATEPATH")) | length) \(map(select(.event == "DESTROYPATH")) | length)"' dump.json | sort > lives
    check_equal "sockets that are never used: each is made, and ends" "25 unused tcp 1 1 5 unused udp 1 1 7 unused unix-stream 1 1" \
        "$(grep unused lives | uniq -c | xargs)"
    check_equal "... and others, which are recorded once, too" "4 used tcp 1 1 2 used udp 1 1 3 used unix-stream 1 1" \
        "$(grep '^used' lives | uniq -c | xargs)"
    check "... which are matched as before" sh -c '"$1" stats trace | grep -q "^Matched receives: 3 exact"' sh "$dpm"
else
    skip "sockets that are never used" "$(tail -n 1 err)"
fi

# UNIX sockets of another network namespace than dpm's: no list shows dpm that they are closed
cat > elsewhere.py << 'END'
import socket, time
for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM:
    for i in range(5):
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        one.send(b"a")
        other.recv(1)
        one.close()
        other.close()
time.sleep(8)  # several sweeps
END
record_elsewhere() {
    rm -rf trace
    "$dpm" run --meter kernel --kinds unix -o trace -- unshare -n python3 elsewhere.py > out 2> err
    status=$?
    "$dpm" dump --json trace > dump.json 2> dump.err
}
if [ "$found" != kernel ]; then
    skip "closed UNIX sockets of another network namespace" "the kernel meter does not run here"
elif unshare -n true 2> err; then
    repeat record_elsewhere
    check_equal "a program that uses UNIX sockets in another network namespace ends in order" 0 $status
    check_equal "closed UNIX sockets of another network namespace: each is ended, once" \
        "10 unix-datagram 1 10 unix-seqpacket 1 10 unix-stream 1" \
        "$(jq -rs 'map(select((.kind | tostring | startswith("unix")) and .path != null)) | group_by(.path)[] |
            "\(.[0].kind) \(map(select(.event == "DESTROYPATH")) | length)"' dump.json | sort | uniq -c | xargs)"
else
    skip "closed UNIX sockets of another network namespace" "$(tail -n 1 err)"
fi

# without pipes, the end of accept is not seen: an ACCEPT belongs to the first user, an unused one to the one that closes
waits=0
repeat record "$dpm" run --meter kernel --kinds tcp
if [ $status -eq 0 ]; then
    check "kernel meter, only tcp: a program makes connections" grep -q "^unused " log
    compare log connect fail accept listen
    look trace log
    if long_ones; then
        repeat record "$dpm" run --meter kernel --kinds tcp --flags connect,connectfailed,destroypath
        check_equal "kernel meter, without hooks on messages and switches" 0 $status
        compare log connect fail
    else
        skip "kernel meter, without hooks on messages and switches" "takes long: only with ./dev test --all"
    fi
    repeat record "$dpm" run --meter kernel --kinds tcp --flags connectfailed
    check_equal "kernel meter, failures alone" 0 $status
    compare log fail
else
    skip "kernel meter, only tcp" "$(tail -n 1 err)"
fi
finish
