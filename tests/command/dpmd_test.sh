#!/bin/sh
# SPDX-License-Identifier: MIT
# dpmd_test.sh BUILD_FOLDER: with dpmd ordinary users run and acquire by the kernel meter, as exactly as root; each refusal of
# docs/security.md; what happens when dpmd, or a session's process, is killed.
build=$1
source=$(cd "$(dirname "$0")" && pwd)
. "$source/tap.sh"
. "$source/meter.sh"
[ "$(id -u)" = 0 ] || skip_all "must be root to become another user"
need_meter
need_programs cc jq python3 setpriv
chmod 755 "$scratch"
cd "$scratch" || exit 1
cp "$dpm" "$build/dpmd" "$source/session_client.py" .
export DPM_SOCKET="$scratch/run/socket"
mkdir recordings
chmod 1777 recordings
service=

# start_service OPTION...: starts dpmd ($service); it listens when this returns.
start_service() {
    ./dpmd --socket "$DPM_SOCKET" --folder run/sessions "$@" >> service.log 2>&1 &
    service=$!
    wait_for 60 listens_at "$DPM_SOCKET"
}

end_service() {
    kill "$service" && wait "$service"
}

trap 'kill -KILL $service $(servers) 2> end.err; rm -rf "$scratch"' EXIT

# servers: the processes that serve sessions.
servers() {
    cat run/sessions/* 2> servers.err | cut -d ' ' -f 2 | while read -r server_pid; do
        [ ! -d "/proc/$server_pid" ] || echo "$server_pid"
    done
}

no_servers() {
    [ -z "$(servers)" ]
}

# by USER COMMAND...
cat > by << 'END_OF_BY'
#!/bin/sh
user=$1
shift
exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
END_OF_BY
chmod 755 by
one=54320 # not nobody, as whom other tests run dpm at the same time
other=54321

# One that users may execute.
for python in $(IFS=:; for folder in $PATH; do echo "$folder/python3"; done) ""; do
    [ ! -x "$python" ] || ! ./by $one "$python" -c 'import array, socket' 2> python.err || break
done
[ -n "$python" ] || skip_all "no python3 that users may execute: $(head -n 1 python.err)"

# says USER CASE ...: what dpmd answers to session_client.py.
says() {
    says_user=$1
    shift
    ./by "$says_user" env OTHERS_PROCESS=$$ timeout 200 "$python" session_client.py "$DPM_SOCKET" "$@" 2> says.err
}

# record NAME OPTION...: dpm in the foreground, by user $one; its messages are in the files out and err.
record() {
    record_name=$1
    shift
    rm -rf "recordings/$record_name"
    ./by $one ./dpm "$@" > out 2> err
}

# Where only talk's messages matter, few hooks are loaded, which takes less time.
few="--flags send,receive --kinds pipe"

# talk MESSAGES PAUSE [FILE]: sends messages of 1, 2 ... 100, 1 ... bytes through a pipe, with a pause in us after each; its
# child sends them back. With a file: until it exists. Prints how many there were, and how many bytes.
cat > talk.c << 'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int there[2], back[2];
    char bytes[100] = "";
    long most = atol(arguments[1]), sum = 0, i = 0;

    if (pipe(there) < 0 || pipe(back) < 0)
        return 2;
    if (fork() == 0) {
        close(there[1]);
        for (ssize_t got; (got = read(there[0], bytes, sizeof(bytes))) > 0;)
            if (write(back[1], bytes, got) != got)
                _exit(2);
        _exit(0);
    }
    for (; count > 3 ? access(arguments[3], F_OK) != 0 : i < most; i++) {
        ssize_t size = i % 100 + 1;
        if (write(there[1], bytes, size) != size || read(back[0], bytes, size) != size)
            return 2;
        sum += size;
        if (atoi(arguments[2]) > 0)
            usleep(atoi(arguments[2]));
    }
    close(there[1]);
    wait(NULL);
    printf("%ld %ld\n", i, sum);
    return 0;
}
END_OF_C
cc -O1 -o talk talk.c || exit 1

# counted NAME: messages and bytes that a trace has of talk, in the words of talk if both ways and both ends agree.
counted() {
    "$dpm" dump --json "$1" 2> dump.err | jq -r -s '[.[] | select(.name == "talk" and .bytes > 0)] |
        [.[] | select(.event == "SEND")] as $sends | [.[] | select(.event == "RECEIVE")] as $receives |
        if ($sends | length) == ($receives | length) and ($sends | map(.bytes) | add) == ($receives | map(.bytes) | add)
        then "\(($sends | length) / 2) \(($sends | map(.bytes) | add) / 2)" else "the ends differ" end'
}

# story NAME: what a trace says of talk, without what differs from run to run, such as waits.
story() {
    "$dpm" dump --json "$1" 2> dump.err | jq -c -s '[.[] | select(.name == "talk" and (.event | IN("SEND", "RECEIVE", "SENDCALL", "FORK", "EXEC", "PATH", "TERMINATION")))] |
        group_by(.pid) | map(map([.event, .bytes, .offset, .kind, .status])) | sort | .[][]'
}

# ---- without dpmd ----

check_equal "without dpmd: the kernel meter is refused, with what to do" \
    "1 dpm: the kernel meter needs CAP_BPF and CAP_PERFMON; run dpm as root, e.g. with sudo (see dpm check)" \
    "$(record without run --meter kernel -o recordings/without -- true; echo "$? $(head -n 1 err)")"
record without run -o recordings/without -- true
check "... and dpm run takes ptrace" grep -q '^dpm: metering with ptrace' err
"$dpm" run --meter kernel --kinds pipe -o recordings/root -- ./talk 300 0 > root.out 2> err
check_equal "root needs no dpmd" "$(grep -v : root.out | grep -x '[0-9]* [0-9]*')" "$(counted recordings/root)"

check_equal "... and dpm check says how to start it" \
    "limited as root: systemctl enable --now dpmd.socket, once for all users; or start dpmd by hand (dpmd(8))" \
    "$(./by $one ./dpm check --json | jq -r '.checks[] | select(.name == "dpmd") | "\(.state) \(.advice)"')"

# ---- with it ----

start_service
check_equal "with dpmd: dpm check says that it works" "0 kernel dpm run and dpm acquire work here for all flags: dpmd loads the meter" \
    "$(./by $one ./dpm check --json > out; echo "$? $(jq -r '"\(.run_meter) \(.summary)"' out)")"
mode=$(stat -c %a "$DPM_SOCKET")
chmod 660 "$DPM_SOCKET"
check_equal "... and whom to ask, where its socket is a group's" \
    "limited have root add you to the socket's group (ls -l shows it), then log in again" \
    "$(./by $one ./dpm check --json | jq -r '.checks[] | select(.name == "dpmd") | "\(.state) \(.advice)"')"
chmod "$mode" "$DPM_SOCKET"
check "dpmd gives up what it does not need, for good" wait_for 60 sh -c "
    grep -qx 'NoNewPrivs:.1' /proc/$service/status && grep -qx 'CapBnd:.0*' /proc/$service/status &&
    [ \$(( 0x\$(sed -n 's/^CapPrm:[^0-9a-f]*//p' /proc/$service/status) & ~(1 << 39 | 1 << 38 | 1 << 12 | 1 << 21) )) = 0 ]"
run_one() {
    record one run --meter kernel --kinds pipe -o recordings/one -- ./talk 300 0
    cp out one.out
    counted recordings/one > one.counted
}
repeat run_one
check_equal "a user meters a command: every message" "$(grep -x '[0-9]* [0-9]*' one.out)" "$(cat one.counted)"
story recordings/one > one.story
story recordings/root > root.story
check "... the records are those of root's own meter" sh -c 'cmp one.story root.story && [ "$(wc -l < one.story)" -gt 1200 ]'
check "... none of them is lost" sh -c "'$dpm' dump recordings/one | grep -q 'END .* 0 lost, complete'"
record idle run --meter kernel --kinds pipe -o recordings/idle -- sleep 2
check "... nothing happens: dpm looks less than 30 times a second" \
    sh -c "'$dpm' dump --json --type cost recordings/idle | jq -e -s '.[-1].wakeups < 30 * (1 + (.[-1].time_ns - .[0].time_ns) / 1e9)'"
# 32 KiB hold 585 records: those of 60 ms
fits() {
    record small run --meter kernel $few --ring 32K -o recordings/small -- ./talk 2000 300 &&
        "$dpm" stats --json recordings/small | jq -e '.trace.lost == 0 and .trace.events >= 8000' > fits.out
}
needs_cpu "... a ring fills: the meter wakes it" fits
./by $one ./talk 0 1000 stop > talk.out &
talk=$!
wait_for 60 pgrep -P $talk -x talk
record acquired acquire -o recordings/acquired --duration 0.5 $few --pid $talk
check "a user acquires a running process" sh -c "'$dpm' dump --json recordings/acquired | jq -e -s '[.[] | select(.event == \"SEND\")] | length > 0'"
record acquired acquire -o recordings/acquired --duration 0.2 $few --all
check "... and all, which are the user's" sh -c "'$dpm' dump --json recordings/acquired |
    jq -e -s '[.[] | select(.event == \"STREAM\")] | length > 0 and all(.[]; .user == $one)'"
check_not "... but not dpm itself" sh -c "'$dpm' dump --type STREAM recordings/acquired | grep -q ' dpm\['"

# ---- two users ----

refusal="it belongs to another user, or has more rights than you; run dpm as root, e.g. with sudo"
check_equal "another user's process is refused" "1 dpm: cannot meter process $talk: $refusal" "$(
    ./by $other ./dpm acquire -o recordings/others $few --duration 0.2 --pid $talk > out 2> err; echo "$? $(tail -n 1 err)")"
check_equal "... also if the request names it without dpm" "others: -1 cannot meter process $$: $refusal" "$(says $one others)"
./by $other sleep 60 &
sleeper=$!
wait_for 60 pgrep -U $other -x sleep
./by $other ./dpm acquire -o recordings/others --duration 0.2 $few --all > out 2> err
check "... and not among all" sh -c "'$dpm' dump --json recordings/others | jq -e -s '
    map(select(.event == \"STREAM\") | .user) | unique == [$other]'"
kill $sleeper
wait $sleeper 2> wait.err
touch stop # talk ends
wait $talk
rm stop
wait_for 60 no_servers
./by $one ./dpm run --meter kernel $few -o recordings/first -- ./talk 0 5000 stop > first.out 2> first.err &
first=$!
wait_for 60 pgrep -P $first -x talk
server=$(servers)
./by $other ./dpm run --meter kernel $few -o recordings/second -- ./talk 100 0 > second.out 2> second.err
check_equal "two users record at once: the one has every message" "$(grep -x '[0-9]* [0-9]*' second.out)" "$(counted recordings/second)"
check_not "... but cannot end the other's session" ./by $one kill "$server"
check_not "... nor read what it does" ./by $one cat "/proc/$server/environ"
check_not "... nor see whose sessions there are" ./by $one ls run/sessions
check_not "... nor take its descriptors" ./by $one ls -l "/proc/$server/fd/"
check_not "... nor remove the socket" ./by $one rm -f "$DPM_SOCKET"
touch stop
wait $first
rm stop
check_equal "... and the other has its own" "$(grep -x '[0-9]* [0-9]*' first.out)" "$(counted recordings/first)"
check_not "... and nothing else" sh -c "'$dpm' dump --json recordings/first recordings/second | jq -e -s '
    ([.[] | select(.trace == 0) | .pid] | unique) as \$of_first | any(.[] | select(.trace == 1); .pid as \$pid | \$of_first | index(\$pid))'"

# ---- programs that gain privilege ----

cp talk gains
chmod 4755 gains
record gains run --meter kernel --kinds pipe -o recordings/gains -- sh -c './talk 20 0; ./gains 20 0; ./talk 20 0'
check_equal "a set-user-ID program: its messages are not recorded, those before and after are" "talk 80" "$(
    "$dpm" dump --json recordings/gains | jq -r 'select(.event == "SEND") | .name' | sort | uniq -c | awk '{ print $2, $1 }')"
check "... which dpm says" grep -q '^dpm: 1 process executed a program that gains privilege (gains), and is not metered' err

# ---- root in containers ----

if unshare -pf --mount-proc true 2> unshare.err; then
    answer="first: -1 root without CAP_SYS_PTRACE, or in a container: dpmd would have to treat you as the owner of all of root's processes"
    check_equal "root in another PID namespace is refused" "$answer" \
        "$(unshare -pf --mount-proc "$python" session_client.py "$DPM_SOCKET" first)"
    check_equal "... a user there may not meter all processes" \
        "all: -1 in a container (a PID namespace) you cannot meter all your processes, for those outside would be among them: name them" \
        "$(unshare -pf --mount-proc ./by $one "$python" session_client.py "$DPM_SOCKET" all)"
    check_equal "root without capabilities is refused" "$answer" \
        "$(setpriv --bounding-set -all --inh-caps -all "$python" session_client.py "$DPM_SOCKET" first)"
else
    skip "root in another PID namespace" "$(cat unshare.err)"
fi
if unshare -Ur true 2> unshare.err; then
    check_equal "root in another user namespace is refused" "$answer" \
        "$(unshare -Ur "$python" session_client.py "$DPM_SOCKET" first)"
else
    skip "root in another user namespace" "$(cat unshare.err)"
fi

# ---- wrong messages ----

says $one short empty long version operation flags later_flags kinds later_kinds ring first descriptors many > said
check_equal "wrong messages are refused: each with its reason" \
"short: -71 not a request: 1 bytes instead of 2576
empty: closed
long: -71 not a request
version: -71 dpm is of another version than dpmd: install the same of both
operation: -71 no such operation: 13
flags: -22 dpmd does not know all of these flags: 0x8000000000000000
later_flags: -22 dpmd does not know all of these flags: 0x8000000000000000
kinds: -22 dpmd does not know all of these kinds: 0x80000000
later_kinds: -22 dpmd does not know all of these kinds: 0x80000000
ring: -22 dpmd gives a user rings of at most 64 MiB (dpmd --ring): ask for less with --ring
first: -1 the session is not in a state for operation 6
descriptors: -71 not a request
many: -71 not a request" "$(cat said says.err)"
says $one in_session without_pidfd sockets after_detach > said
check_equal "... also in a session" \
"in_session: -1 the session is not in a state for operation 1
-1 the session is not in a state for operation 12
-22 the meter was not opened for all of these flags: 0x8000000000000000
-22 the meter was not opened for these kinds of paths: file. What is on its way there has not been counted
-22 the meter was not opened to change kinds of paths
-9 the descriptor is no pidfd
-9 the descriptor is no pidfd
-3 the process has ended
without_pidfd: -71 0 descriptors came with the request instead of 1
sockets: -71 too many sockets in one request
after_detach: 0 | -1 the session is not in a state for operation 8 | 0 | 0" "$(cat said says.err)"
says $one random > said
check "requests in any order, with any content: each is answered" grep -qx 'random: answered 0 0' said || cat said
check_equal "memory that a session takes has a limit" "flood_of_sockets: -12 Cannot allocate memory" "$(says $one flood_of_sockets)"

# ---- dpmd is killed ----

wait_for 60 no_servers
./by $one ./dpm run --meter kernel $few -o recordings/killed -- ./talk 0 1000 stop > killed.out 2> err &
recording=$!
wait_for 60 pgrep -P $recording -x talk
server=$(servers)
programs_of "$server" > programs
rounds=1
! long_ones || rounds="1 2 3"
for round in $rounds; do
    kill -KILL "$service"
    wait "$service" 2> wait.err
    start_service --sessions 1
    check_equal "dpmd is killed and started again ($round): it counts the session that goes on" \
        "first: -87 you have as many sessions as dpmd gives a user, 1: end one first, or raise dpmd --sessions" "$(says $one first)"
done
touch stop
wait $recording
rm stop
check_equal "... which has every message" "$(grep -x '[0-9]* [0-9]*' killed.out)" "$(counted recordings/killed)"
check "... and none is lost" sh -c "'$dpm' dump recordings/killed | grep -q 'END .* 0 lost, complete'"
if command -v bpftool > bpftool.path; then
    check "nothing of it is left in the kernel" wait_for 60 are_freed programs
else
    skip "nothing of it is left in the kernel" "bpftool is not installed"
fi

# ---- limits ----

wait_for 60 no_servers
too_many="-87 you have as many sessions as dpmd gives a user, 1: end one first, or raise dpmd --sessions"
check_equal "a peer is told why it is refused, whether it asks early or late" \
    "refused: $too_many | $too_many" \
    "$(says $one refused)"
wait_for 60 no_servers
./by $one ./dpm run --meter kernel $few -o recordings/held -- sleep 300 > out 2> held.err &
held=$!
wait_for 60 pgrep -P $held sleep
kill -STOP "$service"
says $one slow_to_close > said
kill -CONT "$service"
check_equal "a peer that is refused passes a socket that closes in a minute: dpmd does not wait for it" \
    "first: $too_many" \
    "$(./by $one timeout 60 "$python" session_client.py "$DPM_SOCKET" first)"
record more run -o recordings/more -- true
check "dpm says so, and takes ptrace" grep -q '^dpm: metering with ptrace.*you have as many sessions' err
record more run --meter kernel -o recordings/more -- true
check_equal "... or fails, if it must not" \
    "dpm: you have as many sessions as dpmd gives a user, 1: end one first, or raise dpmd --sessions" "$(tail -n 1 err)"

# ---- dpmd is stopped ----

end_service
check_equal "stopped by SIGTERM, it ends well" 0 $?
check "... and ends the sessions" wait_for 60 no_servers
wait_for 60 grep -q ended held.err
check_equal "... whose users are told" "dpm: recording stopped: dpmd has ended the session; the command runs on" "$(grep ended held.err)"
pkill -P $held sleep
wait $held 2> wait.err
check_not "... and removes its socket" test -e "$DPM_SOCKET"
wait_for 60 no_servers
start_service --sessions 2 --ring 8 --all-sessions 2
check_equal "rings that are kept count as sessions, until they are given back" \
    "kept_rings: 2 | -87 you have as many sessions as dpmd gives a user, 2: end one first, or raise dpmd --sessions | then one more" \
    "$(says $one kept_rings)"
check_equal "a ring that is not asked for has the size that is allowed" "default: 8388608" "$(says $one default)"
check_equal "... one that is larger is refused" \
    "ring: -22 dpmd gives a user rings of at most 8 MiB (dpmd --ring): ask for less with --ring" "$(says $one ring)"
./by $other "$python" session_client.py "$DPM_SOCKET" hold > hold.out &
hold=$!
wait_for 60 grep -q hold: hold.out
check_equal "all users together have a limit, too" \
    "kept_rings: 1 | -87 dpmd has as many sessions as it gives all users together, 2: wait until one ends, or raise dpmd --all-sessions | then one more" \
    "$(says $one kept_rings)"
kill $hold
wait $hold 2> wait.err

# ---- a session's process is killed ----

wait_for 60 no_servers
./by $one ./dpm run --meter kernel $few -o recordings/cut -- ./talk 0 1000 stop > cut.out 2> err &
recording=$!
# has_recorded: whether the trace has some hundred messages already
has_recorded() {
    [ "$("$dpm" dump --type send recordings/cut 2> /dev/null | grep -c 'talk')" -gt 100 ]
}
wait_for 60 has_recorded
kill -KILL "$(servers)"
wait_for 60 grep -q '^dpm:.*ended' err
touch stop
wait $recording
status=$?
rm stop
check_equal "a session's process is killed: dpm says so; the command runs on, and its exit status is dpm's" \
    "0 dpm: recording stopped: dpmd has ended the session; the command runs on" "$status $(grep '^dpm:.*ended' err)"
check "... the trace has everything up to there" sh -c "'$dpm' dump --json recordings/cut | jq -e -s '
    [.[] | select(.event == \"SEND\" and .name == \"talk\") | .offset] | length > 100'"
check "... and says that it is not the end" sh -c "'$dpm' dump recordings/cut 2> dump.err | grep -q 'END .* dpmd ended the session'"

# ---- how it is started ----

check_equal "a second dpmd on the same socket" "1 dpmd: another dpmd listens at $DPM_SOCKET" \
    "$(./dpmd --socket "$DPM_SOCKET" --folder run/sessions 2> err; echo "$? $(cat err)")"
check "... which goes on" says $one short
check_equal "unknown options are refused" 2 "$(./dpmd --everything > out 2> err; echo $?)"
check_equal "... arguments" "2 dpmd: unexpected argument 'all'; see dpmd --help" "$(./dpmd all 2> err; echo "$? $(cat err)")"
for wrong in 0 -1 1x '' 99999; do
    check_equal "... and --sessions '$wrong'" "2 dpmd: --sessions '$wrong': give a number from 1 to 1000" \
        "$(./dpmd --sessions "$wrong" 2> err; echo "$? $(cat err)")"
done
check "--help lists the options" sh -c './dpmd --help | grep -q -e --all-sessions'
check_equal "--version" "dpmd $("$dpm" --version | sed 's/^dpm //')" "$(./dpmd --version)"
end_service
mkdir open
chmod 777 open
check_equal "a folder that others may write to is refused" \
    "1 dpmd: the folder open is not dpmd's own: others may write to it, and processes that it names get signals; remove it, or name another with --folder" \
    "$(./dpmd --socket "$DPM_SOCKET" --folder open 2> err; echo "$? $(cat err)")"
check_equal "who may not load the meter cannot start it" \
    "1 dpmd: needs CAP_BPF and CAP_PERFMON: start it as root, or by its systemd unit" \
    "$(./by $one ./dpmd --socket recordings/socket --folder recordings/sessions 2> err; echo "$? $(cat err)")"

# as systemd does it: the socket is descriptor 3
cat > activate.py << 'END_OF_PYTHON'
import os, socket, sys
kind, path = sys.argv[1:3]
listener = socket.socket(socket.AF_UNIX, getattr(socket, kind))
listener.bind(path)
os.chmod(path, 0o666)
listener.listen()
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv("./dpmd", ["dpmd", "--folder", "run/sessions"])
END_OF_PYTHON
export DPM_SOCKET="$scratch/run/passed"
python3 activate.py SOCK_SEQPACKET "$DPM_SOCKET" &
service=$!
wait_for 60 listens_at "$DPM_SOCKET"
echo 'type=send, size>15, process=talk; type=receive, size>15, process=talk;' > large.rules
record passed run --meter kernel $few -r large.rules -o recordings/passed -- ./talk 20 0
check_equal "a socket that systemd passes, and a user's rules" "5 90" "$(counted recordings/passed)"
check "... which the kernel evaluates, too" test \
    "$("$dpm" dump --json --type discarded recordings/passed | jq -s 'map(select(.stream == 0) | .count) | add // 0')" -gt 20
end_service
check "... is left to it when dpmd ends" test -e "$DPM_SOCKET"
check_equal "... one of another type is refused" \
    "1 dpmd: the socket that systemd has passed is not of type SOCK_SEQPACKET (ListenSequentialPacket=)" \
    "$(python3 activate.py SOCK_STREAM run/stream 2> err; echo "$? $(cat err)")"
check_equal "with a socket that nobody listens at dpm says what to do" \
    "dpm: dpmd does not run: nothing answers at $DPM_SOCKET; start it, e.g. with systemctl start dpmd" \
    "$(record gone run --meter kernel -o recordings/gone -- true; tail -n 1 err)"
if command -v systemd-analyze > analyze.path; then
    mkdir units
    sed "s|^ExecStart=[^ ]*|ExecStart=$scratch/dpmd|" "$build/systemd/dpmd.service" > units/dpmd.service
    cp "$build/systemd/dpmd.socket" units
    check "systemd takes the units" sh -c 'systemd-analyze verify --man=no units/dpmd.service units/dpmd.socket > verify.out 2>&1 &&
        ! grep dpmd verify.out'
else
    skip "systemd takes the units" "systemd-analyze is not installed"
fi
check_equal "dpmd had nothing to complain of" "" "$(cat service.log)"
finish
