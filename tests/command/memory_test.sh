#!/bin/sh
# SPDX-License-Identifier: MIT
# memory_test.sh BUILD_FOLDER: a receiver pauses in the middle of a message of 8 MiB, so that its sender is blocked,
# while others continue: reading the trace takes no more memory, however many messages they exchange.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
measure=$1/bench/measure
chatter=$1/bench/chatter
[ -x "$measure" ] && [ -x "$chatter" ] || skip_all "bench/ is not built"
if ldd "$dpm" | grep -q libasan; then
    skip_all "a sanitizer takes memory of its own"
fi
need_meter
command -v python3 > /dev/null || skip_all "python3 is not installed"
cd "$scratch" || exit 1

# The receiver takes a page, rests while the command runs, and takes all the rest.
cat > blocked.py << 'END'
import os, socket, subprocess, sys
if sys.argv[1] == "tcp":
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver = listener.accept()[0]
else:
    sender, receiver = socket.socketpair()
size = 8 << 20
if os.fork() == 0:
    os._exit(0 if sender.send(b"x" * size) == size else 1)
left = size - len(receiver.recv(100000))
subprocess.run(sys.argv[2:], check=True)
while left > 0:
    left -= len(receiver.recv(min(left, 1000)))
sys.exit(os.wait()[1] != 0)
END

# blocked KIND RATE: others make this many records per second meanwhile. The trace is blocked.trace.
blocked() {
    rm -rf blocked.trace
    talk="'$chatter' 1 $2 1 >&2"
    case $1 in
    pipe) # the pager of a pipeline
        set -- sh -ec "dd if=/dev/zero bs=8M count=1 2> dd.err |
            { dd bs=1000 count=100 2> dd.err; $talk; dd bs=1000 2> dd.err; } > page" ;;
    *) set -- python3 blocked.py $1 sh -c "$talk" ;;
    esac
    "$dpm" run -o blocked.trace --ring 64M --flags all,-messagequeued -- "$@" > out 2> err &&
        grep -q ', 0 lost' err
}

# memory COMMAND...: KiB that it uses.
memory() {
    "$measure" measured "$dpm" "$@" blocked.trace > output 2> output.err
    awk '{ print $2 }' measured
}

# dpm stats queues up to 800,000 values, of 4 bytes each.
for kind in pipe tcp unix; do
    check "$kind: a sender of 8 MiB, others who say little" blocked $kind 20000
    little="$(memory dump --matched --json) $(memory stats --json)"
    check "$kind: ... and others who say much" blocked $kind 200000
    much=$(memory dump --matched --json)
    check "... ten times as much" test "$(grep -c '"SEND"' output)" -gt 80000
    much="$much $(memory stats --json)"
    check "... while it is blocked" jq -e '[.processes[].sender_blocked_ns.max | values] | max > 900000000' output
    check "... reading that takes no more memory, KiB: $little; $much" awk \
        -v little="$little" -v much="$much" 'BEGIN { split(little, l); split(much, m)
            exit !(l[1] > 0 && l[2] > 0 && m[1] <= l[1] + 1024 && m[2] <= l[2] + 1024 + 4096) }'
done
finish
