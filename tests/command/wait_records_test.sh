#!/bin/sh
# SPDX-License-Identifier: MIT
# wait_records_test.sh BUILD_FOLDER: how waits are recorded: in which system call, how often, and who ended them, as the waiting
# programs say themselves; by both meters. What analyses make of it is tested by stories (../stories/waits.story).
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq python3 make taskset
programs=$1/tests/programs
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 1

# compare METER: a case for each line of wait_records.py
compare() {
    "$dpm" dump --json "$1.trace" > dump.json 2> dump.err
    python3 "$here/wait_records.py" "$1" dump.json "$1.lines" > "$1.compared" 2> compared.err
    check "the $1 meter: each wait was compared" test "$(cut -d : -f 1 "$1.compared" | sort -u | wc -l)" -ge 18
    while IFS="$(printf '\t')" read -r name expected found; do
        check_equal "the $1 meter: $name" "$expected" "$found"
    done < "$1.compared"
}

# asleep PID: a script that ends when this make sleeps in read or pselect6
cat > asleep << 'END'
#!/bin/sh
for i in $(seq 3000); do
    read -r call rest < "/proc/$1/syscall" || exit
    for wanted in 0 270; do
        [ "$call" != "$wanted" ] || exit 0
    done
    sleep 0.02
done
exit 1
END
chmod +x asleep

# ---- a lock of Python's: two threads, one of which holds it until the other one sleeps ----

cat > lock.py << 'END'
import threading, time
lock, done, tids = threading.Lock(), [], []
def wait():
    tids.append(threading.get_native_id())
    for i in range(3):
        with lock:
            done.append(i)
        while len(done) == i + 1 and i < 2: # until it is held again
            done.append(i) if lock.locked() else time.sleep(0.001)
        del done[i + 1:]
def is_asleep(tid):
    with open(f"/proc/self/task/{tid}/syscall") as file:
        return file.read().startswith("202 ")
lock.acquire()
thread = threading.Thread(target=wait)
thread.start()
for i in range(3):
    while not tids or not is_asleep(tids[0]):
        time.sleep(0.001)
    lock.release()
    while len(done) <= i:
        time.sleep(0.001)
    if i < 2:
        lock.acquire()
thread.join()
print(tids[0], threading.get_native_id())
END

# ---- Python's interpreter lock: two threads that compute ----

cat > gil.py << 'END'
import threading
def compute():
    for i in range(3000000):
        pass
threads = [threading.Thread(target=compute) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END

# ---- make: two jobs at once, and a second make that waits for the first one's token ----

printf '%s\n' 'all: one sub' "one: ; @until [ -e sub.pid ]; do sleep 0.02; done; ./asleep \$\$(cat sub.pid)" \
    "sub: ; +@\$(MAKE) -s -f sub.make" > Makefile
# shellcheck disable=SC2016 # for make
printf '%s\n' '$(shell echo $$PPID > sub.pid)' 'all: x y' 'x: ; @until [ -e y.begun ]; do sleep 0.02; done' 'y: ; @: > y.begun' > sub.make

cat > all.sh << END
'$programs/each-wait' . > kernel.lines
python3 lock.py > lock.tids
/usr/bin/python3 gil.py
taskset -c 0 sh -c "'$programs/taking-turns' alone 100 & '$programs/taking-turns' sleep 20; wait"
make -s -j 2
: > made
until [ -e enough ]; do sleep 0.1; done
END
"$dpm" run --kinds pipe,unix,tcp -o kernel.trace --report none -- sh all.sh > run.out 2>&1 &
running=$!

# ---- analyses of a recording that goes on ----

has_made() {
    [ -e made ] && "$dpm" dump --type termination --process each-wait kernel.trace 2> dump.err | grep -q .
}
wait_for 120 has_made
for command in 'parallelism' 'path' 'causality --server each-wait' 'why'; do
    # shellcheck disable=SC2086 # several words
    "$dpm" $command --json kernel.trace > going-on.json 2> going-on.err
    check_equal "dpm ${command%% *}: it is said that the recording goes on" \
        'dpm: kernel.trace is still being recorded; this is its state so far' "$(cat going-on.err)"
    check "... of which this is a part" jq -e '(.trace | .lost == 0) and (.trace.complete == false)' going-on.json
done
: > enough
wait $running
check_equal "the recording ends" 0 $?
"$dpm" parallelism --json kernel.trace > ended.json 2> ended.err
check_equal "... which is not said then" '' "$(cat ended.err)"

compare kernel
check "nothing was lost" jq -e '.trace.lost == 0' ended.json

# all are asked of dump.json
threads='(map(select(.event == "STREAM")) | map({(.stream | tostring): .}) | add) as $thread'
read -r waiter holder < lock.tids
check "a lock of Python's: three waits or more, in futex" jq -e -s --argjson waiter "$waiter" \
    '[.[] | select(.event == "BLOCK" and .tid == $waiter and .system_call_name == "futex")] | length >= 3' dump.json
check_equal "... which the other thread ended" "$holder" "$(jq -r -s --argjson waiter "$waiter" "$threads"' |
    [.[] | select(.event == "WAKEUP" and .woken_tid == $waiter) | .tid // $thread[.waker | tostring].tid] | unique | join(" ")' dump.json)"

# Where symbols are stripped, the name follows from the library function that is called.
if ldd /usr/bin/python3 2> ldd.err | grep libpython > shared; then
    skip "Python's interpreter lock has a name" "/usr/bin/python3 is in a shared library"
else
    check "Python's interpreter lock has a name" jq -e -s \
        '[.[] | select(.event == "BLOCK" and .time_limit and (.procedure // "" | test("^(take_gil|PyEval_|_PyEval_|_PyThreadState_Attach)")))]
        | length > 0' dump.json
fi

# ---- a mutex, by its address, and the program's name for it ----

check "a mutex has an address" jq -e -s '[.[] | select(.event == "BLOCK" and .name == "mutex" and .system_call_name == "futex") |
    .waited_on // "" | test("^lock 0x[0-9a-f]+$")] | length == 3 and all' dump.json
check "... which the program calls known_lock" jq -e -s '[.[] | select(.event == "PROCEDURE" and .procedure == "known_lock")] | length == 1' \
    dump.json
check "a semaphore, or the end of a thread, is no lock" jq -e -s '[.[] | select(.event == "BLOCK" and
    (.name == "futex" or .name == "join")) | .waited_on // "" | select(test("lock"))] == []' dump.json

# The timer that ends the sleep of one interrupts the other, which computes.
# On a busy machine it may wait for something else, too, that the other one has: a page of the program, read from disk.
check_equal "a timer beside a computing process: no thread ends the sleep" '' "$(jq -c -s '
    (map(select(.event == "STREAM" and .name == "taking-turns")) | map(.stream)) as $parties
    | map(select(.event == "BLOCK" and .name == "taking-turns" and (.system_call_name // "" | test("nanosleep")))) as $sleeps
    | .[] | select(.event == "WAKEUP" and ([.stream, .woken] - $parties == [])) | . as $wakeup
    | select(any($sleeps[]; .stream == $wakeup.woken and .time_ns >= $wakeup.time_ns and .time_ns - .duration_ns <= $wakeup.time_ns))' dump.json)"
check_equal "... which has slept as often as it did" 20 "$(jq -s '[.[] | select(.event == "BLOCK" and .name == "taking-turns" and
    (.system_call_name // "" | test("nanosleep")))] | length' dump.json)"

sub=$(cat sub.pid)
make=$(jq -r -s --argjson sub "$sub" "$threads"' | [.[] | select(.event == "STREAM" and .pid == $sub)][0].parent as $parent |
    $thread[$parent | tostring].pid' dump.json)
check "make -j: the second one waits for a token, for any of several" jq -e -s --argjson sub "$sub" \
    '[.[] | select(.event == "RECEIVECALL" and .pid == $sub and .path == 0)] | length > 0' dump.json
check "... gets it, a byte" jq -e -s --argjson sub "$sub" \
    '[.[] | select(.event == "RECEIVE" and .pid == $sub and .bytes == 1)] | length > 0' dump.json
check "... from the first one, which ends its wait" jq -e -s --argjson sub "$sub" --argjson make "$make" \
    '[.[] | select(.event == "WAKEUP" and .woken_pid == $sub and .pid == $make)] | length > 0' dump.json
check_equal "... whose own waits are ended by its jobs" '' "$(jq -r -s --argjson make "$make" "$threads"' |
    .[] | select(.event == "WAKEUP" and .woken_pid == $make) | $thread[(if .stream == 0 then .waker else .stream end) | tostring] |
    select($thread[.parent | tostring].pid != $make) | "\(.name)[\(.pid)]"' dump.json)"

# ---- by the ptrace meter, which does not record who ends whose wait, nor a wait for buffer space that ends before it has
# looked whether the sender sleeps ----

"$dpm" run --meter ptrace --kinds pipe,unix,tcp -o ptrace.trace --report none -- "$programs/each-wait" . \
    sleep time child waitid end end-pair join futex semop flock suspend take read pair tcp poll select epoll \
    > ptrace.lines 2> ptrace.err
compare ptrace
finish
