#!/bin/sh
# SPDX-License-Identifier: MIT
# namespaces_test.sh BUILD_FOLDER: dpm in a time namespace, a PID namespace and a cgroup namespace, as in containers; and
# a process whose main thread has ended.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
cd "$scratch" || exit 1
leaderless=$1/tests/programs/leaderless
forbid=$1/tests/programs/forbid

# ---- clocks, and names in /proc ----

# seconds_off TRACE: how far the wall-clock time of its last record is from the present.
seconds_off() {
    time=$("$dpm" dump --json --type TERMINATION "$1" | tail -n 1 | jq -r .time)
    echo $(($(date +%s) - $(date -d "$time" +%s)))
}

# at_the_right_time TRACE
at_the_right_time() {
    off=$(seconds_off "$1")
    check "... at the right time ($off s)" test "$off" -ge -1 -a "$off" -le 300
}

# Acquires the process while its second thread waits; its first one has ended, unless it is a leader.
cat > inside.sh << 'END'
    # LEADERLESS DPM [leader]
    rm -f go
    "$1" "$PWD/go" 20 $3 > sent &
    process=$!
    for i in $(seq 600); do
        test "$(ls "/proc/$process/task" | wc -l)" = 2 && { [ "$3" = leader ] || ! test -e "/proc/$process/exe"; } && break
        sleep 0.05
    done
    : > err
    "$2" acquire -p "$process" --kinds unix -o inside.trace --report report > /dev/null 2> err &
    recorder=$!
    for i in $(seq 600); do
        grep -q '^dpm: metering' err && break
        sleep 0.05
    done
    touch go
    wait "$process"
    wait "$recorder"
END

# is_recorded NAME COMMAND...: what inside.sh records, run by the command.
is_recorded() {
    recorded_name=$1
    shift
    rm -rf inside.trace
    "$@"
    check_equal "$recorded_name sends" "sent 20" "$(cat sent)"
    check_equal "... each send is recorded, and its program's procedures have names" 20 \
        "$("$dpm" dump --type SEND inside.trace | grep -c 'in talk_to_itself+')"
    at_the_right_time inside.trace
}

# ahead SECONDS COMMAND...: in a time namespace whose clocks are that much ahead
ahead() {
    seconds=$1
    shift
    unshare -T --monotonic "$seconds" --boottime "$seconds" --fork "$@"
}

if ahead -300 true 2> /dev/null; then
    is_recorded "clocks -300 s off: a process whose main thread has ended" ahead -300 sh inside.sh "$leaderless" "$dpm"
else
    skip "clocks -300 s off" "this kernel has no time namespaces, or the machine has not run that long"
    is_recorded "a process whose main thread has ended" sh inside.sh "$leaderless" "$dpm"
fi
if ! unshare -pf --mount-proc true 2> /dev/null; then
    skip "in a PID namespace" "no PID namespaces here"
elif ahead 100000 true 2> /dev/null; then
    is_recorded "in a PID namespace, clocks 100000 s off: a process" \
        ahead 100000 unshare -pf --mount-proc sh inside.sh "$leaderless" "$dpm" leader
else
    skip "clocks 100000 s off" "this kernel has no time namespaces"
    is_recorded "in a PID namespace: a process" unshare -pf --mount-proc sh inside.sh "$leaderless" "$dpm" leader
fi
for shift in 100000 -300; do
    name="ptrace meter, clocks $shift s off"
    if ! ahead $shift true 2> /dev/null; then
        skip "$name" "this kernel has no time namespaces, or the machine has not run that long"
        continue
    fi
    rm -rf shifted.trace
    check "$name: the recording ends in order" ahead $shift timeout -s KILL 60 "$dpm" run --meter ptrace --kinds pipe \
        -o shifted.trace --report report -- sh -c 'for i in 1 2 3; do echo $i | cat > /dev/null; done'
    check_equal "... and has all sends" 3 "$("$dpm" dump --type SEND shifted.trace | wc -l)"
    at_the_right_time shifted.trace
done

# As the first process of a container it has to reap what others leave.
cat > orphans.sh <<'EOF'
i=0
while [ $i -lt 20 ]; do
    (sleep 0.01 &)
    i=$((i + 1))
done
left=20
for i in $(seq 100); do
    left=$(ps -A -o comm= | grep -c '^sleep')
    [ "$left" != 0 ] || break
    sleep 0.1
done
echo "$left"
exit 3
EOF
unshare -pf --mount-proc true 2> /dev/null && for meter in kernel ptrace; do
    status=0
    timeout 100 unshare -pf --kill-child --mount-proc "$dpm" run --meter $meter -o orphans-$meter.trace --report report -- \
        sh orphans.sh > orphans 2>&1 || status=$?
    check_equal "as process 1, $meter meter: no orphan is left, and the program's status" "0, 3" "$(head -n 1 orphans), $status"
done

# pids are those that the user sees there, of all that is metered: of a namespace below it, too
cat > numbers.sh << 'END'
    sleep 300 &
    echo $! > typed
    : > err # of an earlier recorder: not taken for this one's
    dpm acquire -p "$(cat typed)" --kinds pipe --flags signal -o typed.trace --report report 2> err &
    recorder=$!
    for i in $(seq 600); do
        grep -q '^dpm: metering' err && break
        sleep 0.05
    done
    sh -c 'echo $$ > sender; kill -URG "$1"' sh "$(cat typed)"
    dpm dump --json typed.trace > so-far 2> /dev/null
    kill -TERM "$(cat typed)"
    wait "$recorder"
    dpm run --meter kernel --kinds pipe --flags exec,termination -o run.trace --report report -- \
        sh -c 'echo $$ > own; unshare -pf sh -c "read -r line < /proc/self/stat; echo \$line > below"; true' 2> err2
    sleep 300 &
    unmetered=$!
    dpm acquire --all --kinds pipe --flags exec,termination -o all.trace --duration 200ms --report report 2> err3
    kill $unmetered
END
if unshare -pf --mount-proc true 2> /dev/null; then
    sleep 300 &
    outside=$!
    PATH=$1:$PATH unshare -pf --mount-proc sh numbers.sh
    kill $outside
    pids_in() {
        "$dpm" dump --json --type "$2" "$1" | jq -r "$3" | sort -nu | xargs
    }
    check_equal "... a process has the pid by which the user has named it" "$(cat typed)" \
        "$(pids_in typed.trace stream .pid)"
    check_equal "... its program file is found below it" sleep \
        "$("$dpm" dump --json --type image typed.trace | jq -r '.file | split("/") | last')"
    check_equal "... and the sender of a signal has its own" "$(cat sender)" \
        "$(pids_in typed.trace signal 'select(.signal == 23) | .sender_pid')"
    check "... dpm run records the pid that the command sees" sh -c \
        '"$1" dump --json --type stream run.trace | jq -e -s --argjson pid "$(cat own)" "any(.pid == \$pid)"' sh "$dpm"
    check "... a process in a namespace below has its pid in this one, and its own" sh -c \
        '"$1" dump --json --type stream run.trace | jq -e -s --argjson pid "$(cut -d " " -f 1 below)" "
            any(.pid == \$pid and .pid_inside == 1)"' sh "$dpm"
    check "... --all takes what lives there" sh -c '"$1" dump --type stream all.trace | grep -q "sleep\[[0-9]*\]"' sh "$dpm"
    check_equal "... and nothing else" 1 "$(pids_in all.trace stream .pid_namespace | wc -w)"
fi

# ---- cgroups ----

# in_cgroup COMMAND...: runs it in a cgroup namespace of its own, where only that part of the hierarchy is mounted.
in_cgroup() {
    sh -c 'echo $$ > "$1/cgroup.procs" && shift && exec unshare -C -m sh -c "
        umount $cgroups && mount -t cgroup2 none $cgroups && exec \"\$@\"" sh "$@"' sh "$group" "$@"
}

cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
export cgroups
group=$cgroups/dpm-test-$$
if [ -z "$cgroups" ] || ! mkdir "$group" 2> /dev/null; then
    skip "in a cgroup namespace" "no cgroup can be made here"
elif ! in_cgroup true 2> /dev/null; then
    skip "in a cgroup namespace" "no cgroup namespaces here"
elif in_cgroup sh -c 'test "$(stat -c %i /proc/1/root'"$cgroups"')" = 1' 2> /dev/null; then
    skip "in a cgroup namespace" "process 1 shows the machine's root"
else
    # a process outside of it, which sends itself datagrams
    python3 -c '
import os, socket, time
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
print("bound", flush=True)
while os.getppid() == '$$':
    receiver.sendto(b"datagram", receiver.getsockname())
    receiver.recv(100)
    time.sleep(0.01)' > bound &
    outside=$!
    wait_for 30 test -s bound
    in_cgroup "$dpm" acquire -p $outside --kinds udp -o outside.trace --duration 1s --report report 2> err
    kill $outside
    cat report err > said
    if grep -q 'UDP is metered only for processes in this container' said; then
        pass "in a cgroup namespace: what UDP lacks is said, or UDP needs no cgroup"
        check "... of a process outside of it the report says that UDP is missing" \
            sh -c "'$dpm' stats outside.trace | grep -q 'or for some processes: udp'"
        in_cgroup "$dpm" run --meter kernel --kinds udp -o cgroup.trace --report report -- true 2> err
        check_not "... and of a process in the container it does not" \
            sh -c "'$dpm' stats cgroup.trace | grep 'not metered: .*udp'"
    else
        check "in a cgroup namespace: what UDP lacks is said, or UDP needs no cgroup" \
            sh -c "'$dpm' dump --json --type receive outside.trace | jq -e -s 'map(select(.kind == \"udp\" and .bytes == 8)) | length > 0'"
    fi
    # without bpf() no hook is tried, which takes long
    in_cgroup "$forbid" error "$dpm" check > checked
    check "dpm check explains it" grep -q "limited  *cgroup2 .*shows only this container's part" checked
fi
wait_for 30 rmdir "$group" 2> /dev/null
finish
