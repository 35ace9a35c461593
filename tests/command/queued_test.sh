#!/bin/sh
# SPDX-License-Identifier: MIT
# queued_test.sh BUILD_FOLDER: MESSAGEQUEUED against the known contents of a queue, one by one; and one message that is
# longer than the queue. (queue_test.sh compares times.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/pairs.sh"

# ---- a message much longer than the queue ----

cat > long.py << 'END'
import os, pairs, time
client, server = pairs.pair("unix-stream")
if os.fork() == 0:
    server.close()
    client.sendall(b"l" * 4000000)
    os._exit(0)
client.close()
while server.recv(65536):
    time.sleep(0.004)
os.wait()
END
rm -rf long.trace
"$dpm" run -o long.trace -- python3 long.py > out 2> err
"$dpm" stats --json long.trace > long.json
check "who sends one long message is blocked, and the receiver late" jq -e "$receiver_is_late" long.json
check_equal "... whose queue was as long as the kernel says" \
    "$("$dpm" dump --json --type messagequeued long.trace | jq -s 'map(.queue) | max')" \
    "$(jq '[.processes[].queue.bytes_max] | max' long.json)"
check "... in the words of the report, too" sh -c "'$dpm' report long.trace | grep -q 'was blocked for .* while sending to'"

# ---- each message when it is queued ----

# Logs for each message its bytes and the contents of the queue then: in bytes, or in messages.
cat > one.py << 'END'
import pairs, sys, time
kind = sys.argv[1]
log = open("queued", "w")
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
kinds="tcp-new udp unix-stream unix-datagram"
if long_ones; then
    kinds="$kinds tcp unix-seqpacket"
else
    skip "tcp and unix-seqpacket, message by message" "takes long: only with ./dev test --all"
fi
for kind in $kinds; do
    rm -rf one.trace
    "$dpm" run -o one.trace --kinds ${kind%%-*} -- python3 one.py $kind > out 2> err
    check_equal "$kind: the program runs" 0 $?
    "$dpm" dump --json one.trace | jq -r -s -f queued.jq > found
    case $kind in # the receiver of the first message was not in use yet
    unix*) sed -i 1d queued ;;
    esac
    check "$kind: each message is recorded when it is queued, with the contents of the queue" diff queued found
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
# What a receiver leaves behind when it ends waits no longer than it lives.
"$dpm" run -o left.trace -- sh -c 'head -c 40000 /dev/zero | head -c 10 > /dev/null; sleep 1' > out 2> err
"$dpm" stats --json left.trace > left.json
check "a mean is no larger than the largest" jq -e 'all(.processes[], .paths[]; .queue.messages_mean <= .queue.messages_max)' left.json
check "... of a receiver that leaves messages" jq -e 'any(.processes[]; .queue.unreceived > 0)' left.json
finish
