#!/bin/sh
# SPDX-License-Identifier: MIT
# woken_test.sh BUILD_FOLDER: when the recorder looks for records: seldom, unless the meter wakes it or the user asks.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq python3
brief=$1/tests/programs/brief
cd "$scratch" || exit 1

record() {
    rm -rf trace
    "$dpm" run -o trace "$@" > out 2> err
}

# wakeups: how often it looked.
wakeups() {
    "$dpm" dump --json --type cost trace | jq -s '.[-1].wakeups'
}

# ---- quiet programs ----

record sleep 3
check "nothing happens: it looks less than 30 times a second" test "$(wakeups)" -lt 90

# bursts COUNT MESSAGES PAUSE: one process, after a second of silence.
cat > bursts.py << 'END'
import socket, sys, time
a, b = socket.socketpair()
count, messages, pause = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
time.sleep(1)
for i in range(count):
    for j in range(messages):
        a.send(b"x")
        b.recv(1)
    time.sleep(pause)
END

record --kinds unix --flags send,receive python3 bursts.py 200 5 0.01
took=$("$dpm" dump --json trace | jq -s '(map(.time_ns) | max - min) / 1000000 | floor') # ms
check_equal "1,000 messages in bursts are all there" 1000 "$("$dpm" dump --json --type send trace | wc -l)"
check "... it looks at most 40 times at the beginning, and then at most 12 times a second" test "$(wakeups)" -le $((40 + took * 12 / 1000))

# ---- the meter wakes it ----

# 16 KiB hold 292 records: those of two bursts, not those of 100 ms.
fits() {
    record --kinds unix --flags send,receive --ring 16K python3 bursts.py 40 60 0.03
    "$dpm" stats --json trace | jq -e '.trace.lost == 0 and .trace.events >= 4800'
}
needs_cpu "a small ring does not fill while the recorder sleeps" fits

# Their files are removed at once, so those that are named were opened while their processes lived.
are_named() {
    for i in 1 2 3 4 5 6 7 8 9 10; do
        cp "$brief" "$scratch/gone-$i"
    done
    record --kinds unix,pipe sh -c "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; '$scratch/gone-'\$i; done
        i=0; while [ \$i -lt 100 ]; do i=\$((i + 1)); /bin/echo brief \$i '<'; done"
    "$dpm" dump --json --type send trace |
        jq -es '[.[] | select(.name | startswith("gone-")) | select(.procedure == "main") | .name] | unique |
            length >= 9'
}
needs_cpu "the functions of programs that end within 30 ms have names" are_named

check_equal "100 short processes: each has its command line" 100 \
    "$("$dpm" dump --json --type name trace | jq -r 'select(.kind == 3) | .called' |
        grep -xE '/bin/echo brief [0-9]+ <' | sort -u | wc -l)"
check_equal "... and has ended" 100 \
    "$("$dpm" dump --json --type termination trace | jq -r 'select(.name == "echo") | .pid' | wc -l)"

# ---- the user asks ----

# packets: how many packets of data there are, at least.
packets() {
    "$dpm" dump trace > /dev/null && echo $(($(stat -c %s trace/data) / 4096))
}

record --kinds unix --flags send,receive python3 bursts.py 100 1 0.02
check "records are written about once a second" test "$(packets)" -lt 15
record --kinds unix --flags send,receive --latency 20ms python3 bursts.py 100 1 0.02
check "... or sooner, with --latency" test "$(packets)" -ge 20
check_equal "... and all are there" 0 "$("$dpm" stats --json trace | jq .trace.lost)"

for wrong in 0 2s x 0.5ms; do
    record --latency $wrong true
    check "--latency $wrong is refused" grep -q -- "--latency '$wrong': give a time from 1ms to 1s" err
done

finish
