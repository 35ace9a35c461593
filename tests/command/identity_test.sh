#!/bin/sh
# SPDX-License-Identifier: MIT
# identity_test.sh BUILD_FOLDER: processes that move into another cgroup, or become another user's, without executing a
# program: with either meter, and acquired.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq python3
[ "$(id -u)" = 0 ] || skip_all "needs root"
cd "$scratch" || exit 1

# 50 messages of 10 bytes from one child to another, which a thread of its own receives. Both first become what their arguments
# say: the folder of a cgroup, or a user's number.
cat > become.py << 'END'
import os, socket, sys, threading
def become(what):
    if what.startswith("/"):
        with open(what + "/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))
    else:
        os.setuid(int(what))
def receive():
    got = 0
    while got < 500:
        got += len(to.recv(10))
one, to = socket.socketpair()
if len(sys.argv) > 3:
    print("ready", flush=True)
    sys.stdin.readline()
if os.fork() == 0:
    become(sys.argv[1])
    for i in range(50):
        one.send(bytes(10))
    os._exit(0)
if os.fork() == 0:
    thread = threading.Thread(target=lambda: (wait.acquire(), receive()))
    wait = threading.Lock()
    wait.acquire()
    thread.start()
    become(sys.argv[2])
    wait.release()
    thread.join()
    os._exit(0)
os.wait()
os.wait()
END

# pairs BY TRACE: "FROM TO 50" of each row of Who sent to whom with 50 messages: the interpreter may have others.
pairs() {
    "$dpm" stats --by "$1" "$2" | awk '/^Who sent to whom/ { on = 1; getline; next } on && NF == 0 { exit } on && $3 == 50 { print $1, $2, $3 }'
}

# ---- cgroups ----

root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
one=$root/dpm-test-one-$$
other=$root/dpm-test-other-$$
if [ -n "$root" ] && mkdir "$one" "$other"; then
    trap 'rmdir "$one" "$other"; rm -rf "$scratch"' EXIT
    for meter in kernel ptrace; do
        "$dpm" run --meter $meter -o $meter.cgroup --report report -- python3 -S become.py "$one" "$other"
        check_equal "$meter: messages are between the cgroups that processes have moved into" \
            "${one##*/} ${other##*/} 50" "$(pairs container $meter.cgroup)"
    done
    check_equal "kernel: the moved process' thread receives in its cgroup" 50 \
        "$("$dpm" dump --json --type receive --container "${other##*/}" kernel.cgroup | jq -s 'map(select(.bytes == 10)) | length')"
    check_equal "kernel: one STREAM more for each process that moves" "1 1" \
        "$("$dpm" dump --json --type stream kernel.cgroup | jq -r -s --arg one "/${one##*/}" --arg other "/${other##*/}" '
            map(select(.cgroup_name == $one)), map(select(.cgroup_name == $other)) | length' | xargs)"

    mkfifo line
    python3 -S become.py "$one" "$other" wait < line > ready 2>&1 &
    pid=$!
    exec 3> line
    wait_for 30 grep -q ready ready
    "$dpm" acquire -o acquired.cgroup --report report --flags all --kinds all $pid > acquirer 2>&1 &
    acquirer=$!
    wait_for 30 grep -q 'metering 1 process' acquirer
    echo >&3
    exec 3>&-
    wait $pid $acquirer
    check_equal "acquired: messages are between the cgroups that processes have moved into" \
        "${one##*/} ${other##*/} 50" "$(pairs container acquired.cgroup)"
else
    skip "processes that move into another cgroup" "no cgroup version 2 can be made here"
fi

# ---- users ----

# with and without the end of system calls; the second one tells at the processes' end
for how in '--meter kernel' '--meter kernel --kinds unix' '--meter ptrace'; do
    rm -rf users
    # shellcheck disable=SC2086 # words
    "$dpm" run $how -o users --report report -- python3 -S become.py 65534 12345
    check_equal "$how: messages are between the users that processes have become" "nobody 12345 50" "$(pairs user users)"
done
finish
