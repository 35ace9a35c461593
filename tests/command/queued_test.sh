#!/bin/sh
# SPDX-License-Identifier: MIT
# queued_test.sh BUILD_FOLDER: MESSAGEQUEUED against the known contents of a queue, one by one. (What is said of queues is in
# stories.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/pairs.sh"

# ---- each message when it is queued ----

# Logs for each message its bytes and the contents of the queue then: in bytes, or in messages.
cat > one.py << 'END'
import pairs, sys, time
kind = sys.argv[1]
log = open("queued." + kind, "w")
streams = kind in ("tcp", "tcp-new", "unix-stream")
sender, receiver = pairs.pair(kind)
waiting = []
def send(*sizes):
    for size in sizes:
        sender.send(b"q" * size)
        waiting.append(size)
        print(size, sum(waiting) if streams else len(waiting), file=log)
        time.sleep(0.002)
def take(count):
    for _ in range(count):
        size = waiting.pop(0)
        assert len(receiver.recv(size)) == size
if kind != "tcp-new":
    send(30)
    take(1)
send(100, 200, 300, 400, 500)
if kind == "tcp-new":
    receiver = receiver.accept()[0]
take(2)
send(50, 60)
take(5)
send(70, 80)
END

# For each: bytes, queue, and whether it belongs to no stream and has the position at which it was sent.
cat > queued.jq << 'END'
map(select(.event == "SEND" and .bytes > 1)) as $sends |
(map(select(.event == "RECEIVE"))[0].path) as $path |
map(select(.event == "MESSAGEQUEUED")) as $queued |
$queued | to_entries[] | .value as $one |
$sends[.key + ($sends | length) - ($queued | length)] as $send |
"\($one.bytes) \($one.queue)\(if $one.pid == null and $one.path == $path and $one.offset == $send.offset
    then "" else " of another place" end)"
END
# One recording has each kind once.
all_kinds="tcp-new,udp,unix-stream,unix-datagram"
if long_ones; then
    all_kinds="$all_kinds tcp,unix-seqpacket"
else
    skip "tcp and unix-seqpacket, message by message" "takes long: only with ./dev test --all"
fi
for kinds in $all_kinds; do
    rm -rf one.trace
    # shellcheck disable=SC2046 # a word for each kind
    "$dpm" run -o one.trace --kinds tcp,udp,unix -- sh -c 'for kind in "$@"; do python3 one.py $kind || exit; done' sh \
        $(echo $kinds | tr , ' ') > out 2> err
    check_equal "$kinds: the programs run" 0 $?
    "$dpm" dump --json one.trace > one.json
    for kind in $(echo $kinds | tr , ' '); do
        jq -c --arg kind ${kind%-new} 'select(.kind == $kind)' one.json | jq -r -s -f queued.jq > found
        case $kind in # the receiver of the first message was not in use yet
        unix*) sed -i 1d queued.$kind ;;
        esac
        check "$kind: each message is recorded when it is queued, with the contents of the queue" diff queued.$kind found
    done
done

# Queued messages are recorded even if sends and receives are not; on a UNIX socket from its first use on. One after the
# other in one recording, which has the kinds' paths in this order.
cat > alone.py << 'END'
import pairs, sys
for kind in sys.argv[1:]:
    client, server = pairs.pair(kind)
    for _ in range(10):
        client.send(b"r" * 100)
        server.recv(100)
END
kinds="tcp udp unix-stream unix-seqpacket unix-datagram"
all_flags=messagequeued
if long_ones; then
    all_flags="$all_flags receive,messagequeued"
else
    skip "queued messages with receives alone" "takes long: only with ./dev test --all"
fi
for flags in $all_flags; do
    rm -rf alone.trace
    # shellcheck disable=SC2086 # several
    "$dpm" run -o alone.trace --flags "$(echo $flags | tr , ' ')" -- python3 alone.py $kinds > out 2> err
    "$dpm" dump --json alone.trace > alone.json 2> dump.err
    for kind in $kinds; do
        expected=10
        [ $kind = tcp ] || [ $kind = udp ] || expected=9
        check_equal "$kind, flags $flags: each message is recorded at its position, and nothing else" \
            "$expected true true" "$(jq -r -s --arg flags $flags --arg kind $kind '
            map(select(.kind == $kind)) |
            [.[] | select(.event == "MESSAGEQUEUED")] as $queued |
            [$queued[] | .offset - $queued[0].offset] as $places |
            ($queued[1].offset - $queued[0].offset) as $step |
            "\($queued | length) \($places == [range(0; $queued | length) | . * $step]) \(
                ([.[] | select(.event == "SEND")] == []) and
                (([.[] | select(.event == "RECEIVE" and .bytes == 100)] | length) ==
                    if $flags == "messagequeued" then 0 else 10 end))"' alone.json)"
    done
    check_equal "flags $flags: no other kind of socket has one" "" "$(jq -r 'select(.event == "MESSAGEQUEUED").kind' alone.json |
        sort -u | grep -vxF "$(echo "$kinds" | tr ' ' '\n')")"
done
finish
