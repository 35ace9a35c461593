#!/bin/sh
# SPDX-License-Identifier: MIT
# ptrace_test.sh BUILD_FOLDER: the ptrace meter as an ordinary user: no capability, no BPF. The behaviour and exit of
# programs must not change; it reports what it cannot meter.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
build=$1
# a traced process cannot trace itself, as the leak sanitizer does
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
stops=$build/tests/programs/traced
chmod 755 "$scratch"
mkdir -m 777 "$scratch/work"
cd "$scratch/work" || exit 1

# as_user COMMAND...: as user nobody, if we are root.
if [ "$(id -u)" = 0 ]; then
    as_user() {
        setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs -- \
            env HOME="$scratch/work" "$@"
    }
    # the programs must be accessible
    mkdir "$scratch/bin"
    cp "$dpm" "$build/tests/programs/traced" "$scratch/bin/" || exit 1
    cp "$build"/examples/tsp/tsp* "$scratch/bin/" 2> /dev/null
    chmod -R a+rX "$scratch/bin"
    dpm=$scratch/bin/dpm
    stops=$scratch/bin/traced
    tsp=$scratch/bin/tsp
else
    as_user() {
        "$@"
    }
    tsp=$build/examples/tsp/tsp
fi

# traced TRACE OPTION... -- COMMAND...
traced() {
    trace=$1
    shift
    rm -rf "$trace"
    as_user timeout -k 1 120 "$dpm" run --meter ptrace --report "$trace.report" -o "$trace" "$@"
}

if [ "$(id -u)" = 0 ] && PATH=$PATH:/sbin:/usr/sbin command -v setcap > /dev/null; then
    cp "$dpm" "$scratch/bin/capable"
    PATH=$PATH:/sbin:/usr/sbin setcap cap_bpf,cap_perfmon+ep "$scratch/bin/capable"
    # from a shell, because the process must have had no capability before it executes dpm
    setpriv --reuid 65534 --regid 65534 --clear-groups -- sh -c \
        "'$scratch/bin/capable' run --meter ptrace -o capable.trace -- sh -c 'exit 5'" > out 2> err
    check_equal "the ptrace meter of a program that has capabilities for the other one" 5 $?
else
    skip "the ptrace meter of a program that has capabilities" "no root, or no setcap"
fi

has_capabilities=$(as_user sed -n 's/^CapEff:[[:blank:]]*//p' /proc/self/status)
check_equal "who meters has no capability" 0000000000000000 "$has_capabilities"

# ---- results, statuses, signals ----

check_equal "a pipeline's output is its own" "3" \
    "$(traced pipe.trace -- sh -c 'printf "c\nb\na\n" | sort | wc -l' 2> err)"
as_user "$dpm" dump --matched pipe.trace > dump 2>&1
check "... its messages are matched exactly" \
    sh -c 'test $(grep -c "RECEIVE .*<- SEND .*exact" dump) = 2'
check "... and nothing is lost" grep -q ', 0 lost' pipe.trace.report

statuses='0 255'
! long_ones || statuses='0 1 7 255'
for status in $statuses; do
    traced status.trace -- sh -c "exit $status" 2> err
    check_equal "exit status $status" $status $?
done
traced status.trace -- sh -c 'kill -TERM $$' 2> err
check_equal "killed by SIGTERM" 143 $?
traced status.trace -- sh -c 'kill -KILL $$' 2> err
check_equal "killed by SIGKILL" 137 $?
traced status.trace -- ./there-is-no-such-program 2> err
check_equal "a command that does not exist" 127 $?
traced status.trace -- ./ 2> err
check_equal "a command that cannot be executed" 126 $?
check_equal "a trap runs" "caught" \
    "$(traced trap.trace -- sh -c 'trap "echo caught" USR1; kill -USR1 $$' 2> err)"

# A socket that is connected to itself: its one end sends what it receives.
if command -v python3 > /dev/null; then
    traced self.trace -- python3 -c '
import socket
one = socket.socket()
one.bind(("127.0.0.1", 0))
one.connect(one.getsockname())
for i in range(40):
    one.sendall(b"x" * 10)
    one.recv(10)' > out 2> err
    check "what a connection to itself sends it receives" \
        grep -q 'Matched receives: 40 exact\.' self.trace.report
    traced unbound.trace -- python3 -c '
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("127.0.0.1", 0))
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(10):
    there.sendto(b"x" * 100, here.getsockname())
    here.recvfrom(200)' > out 2> err
    check_equal "a socket that has its port since it has sent has one path with its receiver" '[10,1000] 1' \
        "$("$dpm" stats --json unbound.trace | jq -c '.trace.local | [.messages, .bytes]') $(
            "$dpm" stats --json unbound.trace | jq '[.paths[] | select(.kind == "udp")] | length')"
else
    skip "a connection to itself" "no python3"
    skip "a socket without a port" "no python3"
fi

# ---- ways to begin, to stop, to end (tests/programs/traced.c) ----

# lives MODE RESULT: the program's output under the meter, and that the trace has a certain number of events.
for mode in vfork thread_exec clone3 untraced untraced3 stop signals; do
    check_equal "$mode: the program sees nothing" "$("$stops" $mode)" \
        "$(traced $mode.trace -- "$stops" $mode 2> err)"
    as_user "$dpm" dump --json $mode.trace > $mode.json 2> err
done
count() {
    grep -c "\"event\":\"$1\"" "$2"
}
check_equal "vfork: both programs" 2 "$(count EXEC vfork.json)"
check_equal "exec from a thread: both programs" 2 "$(count EXEC thread_exec.json)"
check_equal "... the streams that ended" 3 "$(count TERMINATION thread_exec.json)"
check_equal "clone3: who was created" 1 "$(count CREATEPROCESS clone3.json)"
check_equal "a child that asks not to be traced is" 1 "$(count CREATEPROCESS untraced.json)"
check_equal "stop and continue: recorded once" 1 "$(count STOPPROCESS stop.json)"
check_equal "... and continued" 3 "$(count STARTPROCESS stop.json)"
for survive in "" --survive; do
    # shellcheck disable=SC2086 # nothing, or an option
    check_equal "calls that a filter of its own refuses: the program sees nothing${survive:+, with $survive}" "exit 0
signal 31" "$(traced refused.trace $survive -- "$stops" refused 2> err)"
    check_equal "... and what they would have sent is not recorded" "[44,7]" \
        "$(as_user "$dpm" dump --json --type send refused.trace | jq -c -s 'map(select(.kind == "unix-stream").bytes)')"
done
check_equal "one call that receives more messages than any can send: the program sees nothing" "received: 2500" \
    "$(traced many.trace -- "$stops" many-receives 2> err)"
check_equal "... and each is recorded" "[2500,2500]" "$(as_user "$dpm" dump --json --type receive many.trace |
    jq -c -s 'map(select(.kind == "unix-stream").bytes) | [length, add]')"
check_equal "sends of two threads on one socket: the program sees nothing" 4194312 "$(traced overlap.trace -- "$stops" overlap 2> err)"
check_equal "... and each says that another one was in progress, be it one of several messages" \
    '[{"bytes":3,"concurrent":true},{"bytes":5,"concurrent":true},{"bytes":4194304,"concurrent":true}]' \
    "$(as_user "$dpm" dump --json --type send overlap.trace |
        jq -c -s 'map(select(.kind == "unix-stream") | {bytes, concurrent}) | sort_by(.bytes)')"
for survive in "" --survive; do
    # shellcheck disable=SC2086 # nothing, or an option
    traced killed.trace $survive -- "$stops" killed > out 2> err
    as_user "$dpm" dump --json killed.trace > killed.json 2> err
    check_equal "killed in a call: the moved bytes are recorded${survive:+, with $survive}" \
        "sent $(jq -s 'map(select(.event == "SEND" and .kind == "unix-stream" and .bytes != 60).bytes) | add' killed.json), received 60" \
        "$(grep sent out), received $(jq -r -s 'map(select(.event == "RECEIVE" and .bytes == 60)) | .[].bytes' killed.json)"
    check_equal "... and no call has failed" "0 0" "$(jq -r -s 'map(select(.event == "TERMINATION")) |
        "\(map(.failed_sends) | add) \(map(.failed_receives) | add)"' killed.json)"
done

# ---- real programs ----

cat > Makefile << 'END_OF_MAKEFILE'
all: a b c d
	cat a b c d > all
a b c d:
	sleep 0.05; echo $@ | tr a-d A-D > $@
END_OF_MAKEFILE
chmod 644 Makefile
if command -v make > "$scratch/which" 2>&1; then
    traced make.trace -- make -s -j 3 2> err
    check_equal "make -j" 0 $?
    check_equal "... makes what it makes" "A B C D" "$(tr '\n' ' ' < all | sed 's/ $//')"
else
    skip "make -j" "there is no make"
fi

if command -v redis-server redis-benchmark > "$scratch/which" 2>&1; then
    port=$(free_port)
    cat > redis.sh << END_OF_REDIS
redis-server --port $port --save "" > redis.log &
server=\$!
until redis-cli -p $port ping > ping 2> ping.err; do sleep 0.1; done
redis-benchmark -p $port -n 500 -c 4 -t set,get --csv > benchmark
redis-cli -p $port shutdown nosave
wait \$server
END_OF_REDIS
    traced redis.trace -- sh redis.sh 2> err
    check_equal "redis and its benchmark" 0 $?
    as_user "$dpm" stats --json redis.trace > redis.json 2> err
    as_user "$dpm" dump --matched redis.trace > redis.dump 2> err
    exact=$(grep -c 'RECEIVE .*<- SEND .*exact' redis.dump)
    check "... each of its requests and answers is matched exactly ($exact)" test "$exact" -ge 2000
    check_not "... none is not" grep -qE '<- .* (ordered|inferred)' redis.dump
else
    skip "redis and its benchmark" "they are not installed"
fi

if [ -x "$tsp" ]; then
    plain=$("$tsp" --cities 10 --servers 2 2> err | grep -i -m 1 length)
    check_equal "the travelling salesman finds the same way" "$plain" \
        "$(traced tsp.trace -- "$tsp" --cities 10 --servers 2 2> err | grep -i -m 1 length)"
    as_user "$dpm" parallelism tsp.trace > parallelism 2> err
    check "... and its parallelism can be computed" grep -q . parallelism
else
    skip "the travelling salesman" "$tsp is not there"
fi

# ---- what cannot be metered is reported ----

# The smallest 32-bit program: exit(5).
printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0\124\200\4\10\64\0\0\0\0\0\0\0\0\0\0\0\64\0\40\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\200\4\10\0\200\4\10\140\0\0\0\140\0\0\0\5\0\0\0\0\20\0\0\270\1\0\0\0\273\5\0\0\0\315\200' > bits32
chmod 755 bits32
traced bits.trace -- ./bits32 2> err
check_equal "a command of 32 bits is refused" 1 $?
check "... with the reason" grep -q 'bits32 is a 32-bit program, which the ptrace meter cannot meter; use --meter kernel$' err
check_not "... and nothing is left" test -e bits.trace
./bits32 2> err
if [ $? = 5 ]; then
    traced bits.trace -- sh -c './bits32; exit $?' 2> err
    check_equal "a descendant of 32 bits runs as it does" 5 $?
    check "... and the result says that its messages are missing" \
        grep -q 'bits32\[.*32-bit program' bits.trace.report
else
    skip "a descendant of 32 bits" "this kernel does not run any"
fi
if [ "$(id -u)" = 0 ]; then
    rm -rf user.trace
    "$dpm" run --meter ptrace -o user.trace --report user.report -- "$stops" user > out 2> err
    check_equal "a child's child is of the user that its parent has become" '[0,0,65534]' \
        "$("$dpm" dump --json --type stream user.trace | jq -c -s 'map(select(.name == "traced")) | unique_by(.tid) | map(.user)')"
else
    skip "a child's child is of the user that its parent has become" "another user takes privilege"
fi
namespaces='unshare -r -p -f sh'
# shellcheck disable=SC2086,SC2016 # words; the inner shell's
if as_user $namespaces -c 'exit 0' 2> err; then
    traced inside.trace -- $namespaces -c '(echo $$); :' > out 2> err
    check_equal "who is in a new PID namespace has its number there" "1 [1,2] " \
        "$(cat out) $(as_user "$dpm" dump --json --type stream inside.trace 2> dump.err |
            jq -c -s 'map(select(.pid != .pid_inside).pid_inside) | unique') $(cat dump.err)"
    # why, if the recording ended early
    [ ! -s dump.err ] || sed 's/^/# /' err inside.trace.report
else
    skip "who is in a new PID namespace has its number there" "no new namespaces: $(cat err)"
fi
# The tracer takes the time of a record before it has read all of it from /proc. While that lasts, the recorder reads the state of
# the machine, whose records must not come before one that is older.
cat > slow.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int slowly(const char *name, const char *path, int flags)
{
    if (strncmp(path, "/proc/", 6) == 0 && strcmp(path + strlen(path) - 5, "/comm") == 0)
        usleep(40000);
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name))(path, flags, 0666);
}

int open(const char *path, int flags, ...) { return slowly("open", path, flags); }
int open64(const char *path, int flags, ...) { return slowly("open64", path, flags); }
END
if cc -shared -fPIC -o slow.so slow.c -ldl 2> err; then
    chmod a+rx slow.so
    rm -rf slow.trace
    as_user env LD_PRELOAD="$PWD/slow.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" timeout -k 1 60 "$dpm" run \
        --meter ptrace --report slow.trace.report -o slow.trace -- sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/true; /bin/true; /bin/true; /bin/true; done' \
        > out 2> err
    check_equal "where /proc is slow, no record comes too late" "" \
        "$(as_user "$dpm" dump slow.trace 2>&1 > dump.out; grep 'recording stopped' slow.trace.report)"
else
    skip "where /proc is slow, no record comes too late" "no C compiler: $(head -n 1 err)"
fi
traced tracer.trace -- "$stops" tracer > out 2> err
check "a program that calls ptrace is reported" grep -q 'traced\[[0-9]*\] called ptrace: the kernel refuses' tracer.trace.report
if "$stops" calls32 > out 2> err; then
    for survive in "" --survive; do
        # shellcheck disable=SC2086 # nothing, or an option
        traced calls32.trace $survive -- "$stops" calls32 > out 2> err
        check_equal "calls of 32 bits are made${survive:+, with $survive}" "itself itself" "$(xargs < out)"
        check "... and reported" grep -q 'traced\[.*32-bit system calls' calls32.trace.report
    done
else
    skip "32-bit calls are made, and reported" "this kernel has none"
fi
traced mapped.trace -- "$stops" zero-copy-receive > out 2> err
check "a program that maps received data is reported" grep -q 'traced\[.*TCP_ZEROCOPY_RECEIVE' mapped.trace.report
if "$stops" listener > out 2> err; then
    traced listener.trace -- "$stops" listener > out 2> err
    check "a program whose calls another process answers is reported" \
        grep -q 'traced\[.*calls answered by another process' listener.trace.report
else
    skip "a program whose calls another process answers is reported" "unavailable here"
fi
if "$stops" uring > out 2> err; then
    traced uring.trace -- "$stops" uring > out 2> err
    check "a program that uses io_uring is reported" grep -q 'used io_uring' uring.trace.report
else
    skip "a program that uses io_uring is reported" "unavailable here"
fi
# Under another tracer: it takes the command's process before dpm can.
check_equal "under another tracer, which follows forks, the command is left alone" 1 \
    "$(as_user timeout -k 1 60 strace -f -o strace.out "$dpm" run --meter ptrace -o other.trace --report other.report -- true > out 2> err; echo $?)"
check "... and the reason is said" grep -q 'it may not be traced, or has another tracer (see dpm check)$' err

# ---- when dpm is killed ----

# killed OPTION...: runs a counter under a dpm that is killed; prints whether the counter continues.
killed() {
    rm -rf killed.trace count
    as_user "$dpm" run --meter ptrace -o "$scratch/work/killed.trace" "$@" -- \
        sh -c 'echo $$ > pid; while :; do echo >> count; sleep 0.05; done' 2> err &
    wait_for 30 test -s count
    as_user sh -c "kill -9 $(pgrep -n -f "dpm run --meter ptrace -o $scratch/work/killed.trac[e]")"
    wait $! 2> err
    before=$(wc -l < count)
    # counts_or_not: it has counted twice more, or ended.
    counts_or_not() {
        [ "$(wc -l < count)" -gt $((before + 1)) ] || ! grep -q '^State:[[:blank:]]*[^ZX]' "/proc/$(cat pid)/status"
    }
    wait_for 30 counts_or_not
    if [ "$(wc -l < count)" -gt $((before + 1)) ]; then
        echo "runs on, $(sed -n 's/^State:[[:blank:]]*\([A-Z]\).*/\1/p' "/proc/$(cat pid)/status" | tr RSDI ++++)"
        kill "$(cat pid)"
    else
        echo "has ended"
        kill "$(cat pid)" 2> err
    fi
}
check_equal "dpm is killed: the command ends with it" "has ended" "$(killed)"
check_equal "with --survive it runs on, and is not stopped" "runs on, +" "$(killed --survive)"

rm -rf survive.trace
as_user timeout -k 1 60 "$dpm" run --meter ptrace --survive -o survive.trace --report survive.report -- \
    sh -c 'sleep 100 & echo $! > pid' 2> err
status=$?
# lives_on: dpm has ended, and the descendant, which may have begun only now, sleeps.
lives_on() {
    [ $status = 0 ] && [ "$(ps -o stat= -p "$(cat pid)" | cut -c 1)" = S ]
}
check "with --survive dpm does not wait for descendants" wait_for 30 lives_on
kill "$(cat pid)"
traced wait.trace -- sh -c '(sleep 0.4; echo late > late) &' 2> err
check "without it does" grep -q late late
finish
