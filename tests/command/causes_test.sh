#!/bin/sh
# SPDX-License-Identifier: MIT
# causes_test.sh BUILD_FOLDER: real programs with one built-in cause of slowness: the first screen of the report names it,
# with its share of the elapsed time, within 10 points of what the programs measured themselves (and those for which CPUs
# stood still). DPM_SEED repeats the durations.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq python3
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
echo "# seed $seed"
# python3 may be a wrapper, which would be a part of the command
python=$(python3 -c 'import sys; print(sys.executable)')
called='python[0-9.]*[^[]*\[[0-9]*\]'
programs=$1/tests/programs
cd "$scratch" || exit 1

# draw LEAST MOST: another number for each run, in `drawn`.
draw() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$(($1 + seed / 65536 % ($2 - $1 + 1)))
}

# report_of COMMAND...: with connections of these kinds only, since loading hooks takes long. Its first screen, as one line, in the file screen; what the command prints is in out.
kinds=pipe
report_of() {
    rm -rf cause.trace
    watched "$dpm" run --meter kernel --kinds $kinds -o cause.trace --report report -- "$@" > out 2> err
    "$dpm" why --json cause.trace > why.json
    head -n 24 report | tr -s '\n ' '  ' > screen
}

# names NAME CAUSE TRUE_MS [MOST_MS]: the screen has "N% of ...: CAUSE" or "N%: CAUSE", and N is right. With two times: it is
# between them; who sleeps for the first also has to get a CPU before it measures the second.
names() {
    said=$(grep -oE "[0-9.]+%( of [0-9.]+ [mu]?s)?: $2" screen | head -n 1)
    elapsed=$(jq '.elapsed_ns / 1e6' why.json)
    if [ -n "$said" ] && jq -n -e --argjson said "${said%%%*}" --argjson elapsed "$elapsed" --argjson ms "$3" \
        --argjson most "${4:-$3}" --argjson stalled "$stalled" '(10 + 100 * $stalled / 1e6 / $elapsed) as $slack |
        $said > 100 * $ms / $elapsed - $slack and $said < 100 * $most / $elapsed + $slack' > compared; then
        pass "$1: $said"
    else
        fail "$1" "in truth $3${4:+ to $4} of $elapsed ms; found '$said' in: $(cat screen)"
    fi
}

# ---- a rule of make ----

draw 600 900
cp "$(command -v sleep)" slow-tool
printf 'all: quick slow\nquick:\n\tsleep 0.1\nslow: quick\n\t./slow-tool 0.%s\n' "$drawn" > Makefile
if command -v make > found; then
    report_of make -j2
    names "make with a slow rule" 'slow-tool[^[]*\[[0-9]*\] slept' "$drawn"
else
    skip "make with a slow rule" "make is not installed"
fi

# ---- a pipeline ----

draw 500 800
cat > stage.py << END
import sys, time
for row in sys.stdin:
    end = time.process_time() + $drawn / 1000 / 200
    while time.process_time() < end: pass
    print(row, end="")
sys.stdout.flush()
print(1000 * time.process_time(), file=open("used", "w"))
END
report_of sh -c "seq 1 200 | '$python' stage.py | sort -n | tail -n 1"
names "a pipeline with a slow stage" "$called computed" "$(cat used)"

# ---- a lock ----

draw 15 25
cat > locked.py << END
# A service with a thread for each of 4 connections, and one lock that each request holds. Prints for how many ms it was
# held.
import os, socket, threading, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(16)
lock = threading.Lock()
held = 0
def serve(peer):
    global held
    while peer.recv(100):
        with lock:
            begin = time.monotonic()
            time.sleep($drawn / 1000)
            held += time.monotonic() - begin
        peer.send(b"answer")
def ask():
    client = socket.create_connection(server.getsockname())
    for _ in range(8):
        client.send(b"ask")
        client.recv(100)
    os._exit(0)
child = os.fork()
if child == 0:
    threads = [threading.Thread(target=serve, args=(server.accept()[0],)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(1000 * held, flush=True)
    os._exit(0)
clients = []
for _ in range(4):
    clients.append(os.fork())
    if clients[-1] == 0: ask()
for pid in clients + [child]: os.waitpid(pid, 0)
END
kinds=tcp
report_of "$python" locked.py
kinds=pipe
names "threads of a service that sleep with a lock held" "$called slept" $((32 * drawn)) "$(cat out)"

# ---- a lock whose holder computes ----

draw 15 25
report_of "$programs/holders" 4 10 "$drawn"
names "threads that compute with a lock held" 'holders\[[0-9]*\] computed' "$(cat out)"
check "... and the procedure that waits for the lock" \
    grep -qE 'meanwhile ([0-9]+|other) threads waited for a lock or condition \(futex in wait_for_table \(holders\)\)' screen
check "... in JSON, too" jq -e '[.holders[] | select(.spent_on == "computing" and .waiting_threads >= 2 and
    .waiter_name == "holders" and .waiter_procedure == "wait_for_table" and .waiter_system_call == "futex")] |
    length > 0' why.json
"$dpm" why cause.trace > text
check "... dpm why has a table of it" grep -qE '^ *[0-9.]+% .*holders.* computing +[0-9]+ holders.*futex in wait_for_table' text

if long_ones; then
    draw 15 25
    report_of "$programs/holders" 4 10 "$drawn" greedy
    names "threads that wake others with the lock held, in vain" 'holders\[[0-9]*\] computed' "$(cat out)"
    check "... these waited for the lock all the time" \
        grep -qE 'meanwhile ([0-9]+|other) threads waited for a lock or condition \(futex in wait_for_table \(holders\)\)' screen
else
    skip "threads that wake others with the lock held, in vain" "takes long: only with ./dev test --all"
fi

# ---- a pipe that processes write into under a lock ----

draw 150 250
report_of "$programs/turns" 3 "$drawn"
names "processes that share a pipe, one of which computes" 'turns\[[0-9]*\]( \([0-9.]+% of that\) and [0-9]+ others?)? computed' \
    "$(cat out)"
"$dpm" dump --json cause.trace > records
check "... and no more time without a CPU than the kernel says" jq -e -n --slurpfile why why.json \
    '[inputs | select(.event == "SCHEDULE")] | group_by(.stream) | map(last.runnable_ns + 1e6) | add >= $why[0].spent_on_ns.no_cpu' \
    records
check "... and each message has one sender" grep -q 'Matched receives: 12 exact\.' report

# ---- a JVM ----

draw 15 25
cat > Locked.java << END
// Four threads sleep in a synchronized block, 10 times each. Prints for how many ms they did, together.
public class Locked {
    static long held;
    static synchronized void work() throws InterruptedException {
        long begin = System.nanoTime();
        Thread.sleep($drawn);
        held += System.nanoTime() - begin;
    }
    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++)
            threads[i] = new Thread(() -> {
                try {
                    for (int k = 0; k < 10; k++) work();
                } catch (InterruptedException ended) {
                }
            }, "worker-" + i);
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println(held / 1e6);
    }
}
END
if command -v java > found && command -v javac > found && javac Locked.java 2> err; then
    report_of java Locked
    names "threads of a JVM that sleep in a synchronized block" 'java\[[0-9]*\] slept' $((40 * drawn)) "$(cat out)"
else
    skip "threads of a JVM that sleep in a synchronized block" "no JDK is installed"
fi

# Longer than a second: then the VM thread stops the others for a moment.
cat > Computing.java << END
// Four threads compute in a synchronized block, 20 times each. Prints for how many ms of CPU time they did, together.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
public class Computing {
    static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    static long held;
    static synchronized void work() {
        long begin = clock.getCurrentThreadCpuTime();
        while (clock.getCurrentThreadCpuTime() < begin + ${drawn}000000L) ;
        held += clock.getCurrentThreadCpuTime() - begin;
    }
    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++)
            threads[i] = new Thread(() -> { for (int k = 0; k < 20; k++) work(); }, "worker-" + i);
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println(held / 1e6);
    }
}
END
if ! long_ones; then
    skip "threads of a JVM that compute in a synchronized block" "takes long: only with ./dev test --all"
elif command -v java > found && command -v javac > found && javac Computing.java 2> err; then
    report_of java Computing
    cp out computed
    names "threads of a JVM that compute in a synchronized block" 'java\[[0-9]*\] computed' "$(cat computed)"
    check "... the screen says that others waited for a lock" grep -qE 'meanwhile ([0-9]+|other) threads waited for a lock or condition' screen
    check "... the threads by name have that share" jq -e --slurpfile ms computed '.elapsed_ns as $elapsed |
        ([.rows[] | select(.spent_on == "computing" and .thread == "worker-*").time_ns] | add) / $elapsed -
        $ms[0] * 1e6 / $elapsed | fabs < 0.1' why.json
    check "... and hardly anything is unknown" jq -e ".spent_on_ns.unknown <= 0.05 * .elapsed_ns + $stalled" why.json
else
    skip "threads of a JVM that compute in a synchronized block" "no JDK is installed"
fi

# ---- an event loop ----

draw 60 90
cat > loop.js << END
// Each fourth request computes for so many ms at a stretch. Prints for how many ms the process has computed.
const net = require("net");
let count = 0;
const server = net.createServer(socket => socket.on("data", () => {
    const end = performance.now() + (++count % 4 == 0 ? $drawn : 1);
    while (performance.now() < end);
    socket.write("answer");
}));
server.listen(0, "127.0.0.1", () => {
    const client = net.connect(server.address().port, "127.0.0.1", () => client.write("ask"));
    let answers = 0;
    client.on("data", () => {
        if (++answers < 60) { client.write("ask"); return; }
        const used = process.cpuUsage();
        console.log((used.user + used.system) / 1000);
        process.exit(0);
    });
});
END
if ! long_ones; then
    skip "an event loop that computes" "takes long: only with ./dev test --all"
elif command -v node > found; then
    kinds=tcp
    report_of node loop.js
    kinds=pipe
    names "an event loop that computes" '[0-9 ]*node[^ ]*( processes)? computed' "$(cat out)"
else
    skip "an event loop that computes" "node is not installed"
fi

# ---- a CPU limit ----

# limited FOLDER: makes a cgroup with 0.25 CPUs; of version 2, or 1.
limited() {
    mkdir "$1" 2> err || return 1
    if [ -e "$1/cgroup.procs" ]; then
        { echo "25000 100000" > "$1/cpu.max"; } 2> err && return
        { echo 100000 > "$1/cpu.cfs_period_us" && echo 25000 > "$1/cpu.cfs_quota_us"; } 2> err && return
    fi
    rmdir "$1"
    return 1
}

draw 250 350
cat > burn.py << END
# Computes for so many ms, and prints for how many ms it had no CPU.
import time
end = time.process_time() + $drawn / 1000
while time.process_time() < end: pass
print(int(open("/proc/self/schedstat").read().split()[1]) / 1e6)
END
group=
for folder in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/cpu; do
    [ -n "$group" ] || ! limited "$folder/dpm-test-$$" || group=$folder/dpm-test-$$
done
if [ -n "$group" ]; then
    # shellcheck disable=SC2016 # for the inner shell
    report_of sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "$python" burn.py
    names "a cgroup with a CPU limit" "$called could run, but had no CPU" "$(cat out)"
    # on a busy machine, other programs may have slowed it down more than its limit
    if "$dpm" stats --json cause.trace | jq -e --arg name "dpm-test-$$" '[.cgroups[] | select(.name | endswith($name))][0] |
        .throttled_ns >= 0.2 * .elapsed_ns and .throttled_periods >= 0.2 * .periods' > slowed; then
        check "... and the limit is named" sh -c "tr -s '\n ' '  ' < report |
            grep -q 'dpm-test-$$ used up its CPU limit (0.25 CPUs)'"
    else
        skip "... and the limit is named" "other programs slowed it down, not its limit"
    fi
    rmdir "$group"
else
    skip "a cgroup with a CPU limit" "no cgroup can limit the CPU here: $(cat err)"
fi
finish
