#!/bin/sh
# SPDX-License-Identifier: MIT
# steer_test.sh BUILD_FOLDER: `dpm steer` with a pool that has too few workers: what it does, and that all of it is restored, whichever process is
# killed. (Decisions: the unit test steer; acts and their way back: steer_hands.)
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
need_meter
need_programs jq
cd "$scratch" || exit 1
export XDG_RUNTIME_DIR="$scratch"

# refused NAME STATUS MESSAGE ARGUMENT...
refused() {
    refused_name=$1 refused_status=$2 message=$3
    shift 3
    "$dpm" steer "$@" > out 2> err
    check_equal "$refused_name" "$refused_status" $?
    # shellcheck disable=SC2016 # for that shell
    check "... in one line: $message" sh -c 'grep -qF -- "$0" err && [ "$(grep -c "^dpm: " err)" = 1 ]' "$message"
}

# A server that has one question at a time, and takes 20 ms; it has four clients.
cat > steered-app.py << 'END'
import os, selectors, socket, time
listener = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
waiting = selectors.DefaultSelector()
waiting.register(listener, selectors.EVENT_READ)
def answers(client):
    try:
        if not client.recv(100):
            return False
        time.sleep(float(os.environ.get("DELAY", "0.02")))
        client.sendall(b"answer")
        return True
    except ConnectionError: # it was killed
        return False
while True:
    for key, _ in waiting.select():
        if key.fileobj is listener:
            waiting.register(listener.accept()[0], selectors.EVENT_READ)
        elif not answers(key.fileobj):
            waiting.unregister(key.fileobj)
            key.fileobj.close()
END
cat > steered-load.py << 'END'
import os, socket, threading
def ask():
    ports = os.environ.get("PORTS", os.environ["PORT"]).split() # each in its turn
    connections = [socket.create_connection(("127.0.0.1", int(port))) for port in ports]
    while all(one.sendall(b"question") is None and one.recv(100) for one in connections):
        pass
for _ in range(4):
    threading.Thread(target=ask).start()
END
# shellcheck disable=SC2016 # for that shell
printf '#!/bin/sh\necho "$@" >> %s/workers\n' "$scratch" > set-workers
chmod 755 set-workers
cat > policy << END
group load is name steered-load.py
group app is name steered-app.py
goal requests/s of load
workers of app from 1 to 4 by $scratch/set-workers app {}
window 1s
settle 10m
limit 1s
END
chmod 644 policy

# ---- what is refused ----

refused "no policy" 2 "name one file with a policy"
refused "--undo with one" 2 "--undo takes no policy, and no trace" --undo policy
refused "a picture in JSON" 2 "--every draws a picture: not with --json" --every 1s --json policy
refused "a wrong time" 2 "--every 'soon': give a time, e.g. 10s" --every soon policy
refused "a file that is not there" 1 "nothing.policy: cannot be read" nothing.policy
sed 's/^goal.*/goal happiness of load/' policy > wrong
refused "a wrong policy" 1 "wrong:3: 'happiness': give requests/s, received messages/s or latency" wrong
cp policy open
chmod 666 open
refused "a policy that others may write" 1 "open: others may write it: chmod go-w" open
sed "s|$scratch/set-workers|/nothing/here|" policy > missing
refused "a command that is not there" 1 "missing:4: /nothing/here: No such file" missing
sh -c 'exit 0' &
ended=$!
wait $ended
sed "s/^group app is.*/group app is pid $ended/" policy > gone
refused "a process that has ended" 1 "gone:2: group app: no process has the id $ended" gone
sed "s/^group app is.*/group app is pid $$/" policy > ancestor
refused "what has started it" 1 "process $$ is spared" ancestor

# ---- it acts ----

PORT=$(free_port)
export PORT
/usr/bin/python3 steered-app.py &
app=$!
load='' steer=''
slow='' slow_load=''
trap 'kill -9 $app $load $steer $slow $slow_load 2> /dev/null; rm -rf "$scratch"' EXIT
listens() {
    ss -Hltn "sport = :$PORT" | grep -q .
}
wait_for 60 listens
/usr/bin/python3 steered-load.py 2> load.err &
load=$!

# steering: begins, with its process in $steer, and its guardian's in $guardian.
steering() {
    : > err
    : > workers
    "$dpm" steer --json policy > decisions 2> err &
    steer=$!
    wait_for 60 grep -q '^dpm: steering by policy' err
    guardian=$(pgrep -P $steer -x dpm-guardian)
}
has_ended() {
    ! [ -e "/proc/$1" ]
}
stands_at() {
    [ "$(tail -n 1 workers)" = "app $1" ]
}

steering
check "it tries more workers, by the command" wait_for 120 stands_at 4
wait_for 30 grep -q '"try"' decisions
check_equal "... as many as there are questions" "try workers of app 1 4" "$(jq -r '"\(.decision) \(.act) \(.from) \(.to)"' decisions)"
check "... and says why" jq -e '(.reason | test("of 1 workers busy, .* messages wait")) and .predicted_gain > 0.5 and
    .goal == "requests/s of load" and .before > 0 and .number == 1 and .unit == "per_second" and .rough == false' decisions
"$dpm" steer policy > out 2> second
check_equal "a second loop on the same processes is refused" 1 $?
check "... in one line" grep -q "^dpm: .* is steered by dpm\[$steer\] already, by policy" second
"$dpm" steer --undo > out 2> second
check "--undo while a loop runs, too" grep -q "^dpm: dpm\[$steer\] still steers, by policy" second
kill $steer
wait $steer
check_equal "a signal ends it in order" 0 $?
check_equal "... and everything is restored" "app 4,app 1" "$(paste -sd , workers)"
check "... which it says" grep -qx "dpm: restored 1 change" err
check "... the guardian ends, too" wait_for 30 has_ended "$guardian"
check_equal "... no journal is left" lock "$(ls dpm-steer)"

# ---- what is killed ----

steering
check "again" wait_for 120 stands_at 4
kill -9 $steer
check "kill -9 of the loop: the guardian restores" wait_for 30 stands_at 1
check "... and says so" wait_for 30 grep -q '^dpm: steer was killed: its guardian has restored 1 change$' err
check "... and ends" wait_for 30 has_ended "$guardian"
check_equal "... with no journal left" lock "$(ls dpm-steer)"

steering
check "and again" wait_for 120 stands_at 4
kill -9 "$guardian"
wait $steer
check_equal "kill -9 of the guardian: the loop ends" 1 $?
check "... restores" stands_at 1
check "... and says why" grep -q "^dpm: steer's guardian was killed: steer ends, and restores" err

steering
check "and once more" wait_for 120 stands_at 4
kill -STOP $steer # it would restore before it is killed
kill -9 "$guardian" $steer
wait $steer
check "kill -9 of both: nothing restores" stands_at 4
"$dpm" steer --undo > out 2> err
check_equal "... --undo does" "restored 1 change" "$(cat out err)"
check "... really" stands_at 1
"$dpm" steer --undo > out
check_equal "... once" "nothing was to be restored" "$(cat out)"

# ---- nothing is done ----

: > workers
: > out
"$dpm" steer --dry-run --every 1s policy > out 2> err &
steer=$!
check "--dry-run says what it would try" wait_for 120 grep -q ' would: workers of app: 1 -> 4, predicted +' out
check "--every draws the loop again and again" wait_for 60 sh -c '[ "$(grep -c "^computation --> meters      1 machine, [1-9]" out)" -ge 2 ]'
check "... with the goal" grep -q "^Its goal: requests/s of load, [1-9][0-9.]* when it was measured last. The loop itself took" out
kill $steer
wait $steer
check_equal "... ends in order" 0 $?
check_equal "... and does nothing" "" "$(cat workers)"

# ---- rules ----

cat > steered-memory.py << 'END'
import time
taken = bytearray(100 << 20)
for page in range(0, len(taken), 4096):
    taken[page] = 1
time.sleep(600)
END
: > workers
sed 's/^settle.*/settle 0s/' policy > rules
cat >> rules << 'END'
group memory is name steered-memory.py
when memory of memory above 100M set workers of app to 3 always
END
/usr/bin/python3 steered-memory.py &
memory=$!
has_memory() {
    [ "$(awk '/^VmRSS/ { print $2 }' /proc/$memory/status)" -gt 102400 ]
}
wait_for 60 has_memory
"$dpm" steer --json rules > decisions 2> err &
steer=$!
check "a rule acts by memory" wait_for 120 stands_at 3
wait_for 30 grep -q '"try"' decisions
check "... and says so" jq -se '.[0] | .decision == "try" and .rule == 9 and .predicted_gain == null and
    (.reason | test("^memory of memory above 100M: 1[0-9][0-9] MiB$"))' decisions
kill $steer $memory
wait $steer
check_equal "... and is taken back at the end" "app 3,app 1" "$(paste -sd , workers)"
sed 's/memory of memory above.*/queue of app above 1 set cpus of app to 1/' rules > wrong
refused "a rule for an act that no line has" 1 "wrong:9: 'cpus': give weight, workers or shares of GROUP ... to" wrong

# ---- what is stored, and several machines ----

: > workers
"$dpm" steer -o steered.trace --json policy > decisions 2> err &
steer=$!
check "with -o, it decides as before" wait_for 120 stands_at 4
seen() {
    "$dpm" dump --type decision steered.trace > seen 2> err2
    grep -q 'try 1: workers of app: 1 -> 4, predicted +.*; requests/s of load ' seen
}
check "... which can be read in the trace meanwhile" wait_for 60 seen
kill $steer
wait $steer
"$dpm" stats --by decision --json steered.trace > stats.json 2> err
check "... the record has what the line has" sh -c '
    jq -c ".decisions[] | [.decision, .number, .act, .from, .to, .goal, .unit, .reason]" stats.json > records
    jq -c "[.decision, .number, .act, .from, .to, .goal, .unit, .reason]" decisions > lines
    cmp records lines && grep -q "\"try\",1," records'
check "... and the figures" jq -e --slurpfile lines decisions '(.decisions[0].before - $lines[0].before | fabs) < 0.01 and
    (.decisions[0].predicted_gain - $lines[0].predicted_gain | fabs) < 0.001 and .decisions[0].before_length_ns > 0' stats.json
check_equal "pipes and message queues are not metered, which would cost all processes" '["pipe","mq"]' \
    "$(jq -c '.trace.not_metered - ["file", "mpi"]' stats.json)"
"$dpm" top --interval 10s steered.trace > top 2> err
check "dpm top marks it" grep -q '^dpm steer: try 1: workers of app: 1 -> 4' top

# ---- what measuring may cost ----

# A process that does nothing needs no workers; nothing measures for so little of the CPUs.
sleep 600 &
idle=$!
sed "s/^group app is.*/group app is pid $idle/" policy > resting
[ "$(nproc)" -gt 8 ] && echo 'cost 0.01%' >> resting || echo 'cost 0.1%' >> resting
"$dpm" steer -o rested.trace --json resting > decisions 2> err &
steer=$!
check "what costs more than the policy allows rests" wait_for 60 grep -q '^dpm: measuring takes .*% of the CPUs: the meter rests .* so that it takes about .*% on average$' err
records_again() {
    "$dpm" dump --json --type flags rested.trace 2> err2 |
        jq -se '[.[] | select(.process == 0) | .meter_flags] | length > 1 and .[0] < .[1]' > out
}
check "... and records again, after 60 s at most" wait_for 120 records_again
kill $steer $idle
wait $steer
check_equal "... nothing was to be done" nothing "$(jq -r .decision decisions)"

# A second server takes three times as long, and each client asks both.
cp steered-app.py steered-slow.py
port=$PORT
PORT=$(free_port)
DELAY=0.06 /usr/bin/python3 steered-slow.py &
slow=$!
wait_for 60 listens
kill $load
PORTS="$port $PORT" /usr/bin/python3 steered-load.py 2> load.err &
slow_load=$!
mkdir traces
"$dpm" acquire -o traces/one --name steered-app.py --name steered-slow.py --name steered-load.py > acquired 2>&1 &
recording=$!
has_begun() { [ -s traces/one/control ]; }
wait_for 60 has_begun
sed "s/^group app is.*/group app is name steered-app.py on $(hostname)\\ngroup slow is name steered-slow.py on $(hostname)/
    s|^workers.*|shares of app slow by $scratch/set-workers {}|" policy > remote
refused "a machine without --session" 1 "remote:2: group app: 'on $(hostname)' needs --session" remote
sed "s/^group app is.*/group app is pid $app/" policy > by-pid
refused "a process by its pid in a session" 1 "by-pid:2: group app: in a session, processes are chosen by name" --session traces by-pid
sed 's/^workers.*/cpus of app/' policy > own
refused "CPUs of other machines" 1 "own:4: in a session, acts are those that a command does" --session traces own
refused "a session that is not there" 1 "nowhere: there is no such trace, folder, session or job" --session nowhere policy
refused "-o of a trace that exists" 1 "traces/one: cannot be created: File exists" --session traces -o traces/one remote
: > workers
"$dpm" steer --session traces --json -o decided remote > decisions 2> err &
steer=$!
shares() { grep -q '^[6-9][0-9] [0-9]*$' workers; }
check "with --session, what others record is steered" wait_for 120 shares
wait_for 30 grep -q '"try"' decisions
check "... by its figures" jq -se '.[-1] | .decision == "try" and .before > 0 and (.reason | test("a request takes .* ms at app, .* ms at slow"))' decisions
"$dpm" steer --session traces remote > out 2> second
check_equal "... by one loop" 1 $?
check "... in one line" grep -q "^dpm: traces is steered by dpm\[$steer\] already, by remote" second
"$dpm" steer policy > out 2> second
check_equal "... and not also as processes of this machine" 1 $?
check "... in one line" grep -q "^dpm: name steered-load.py is steered by dpm\[$steer\] already, by remote" second
kill $recording
check "... which ends with the recording" wait_for 60 has_ended $steer
check_equal "... and restores" "50 50" "$(tail -n 1 workers)"
wait $recording
"$dpm" stats --by decision --json traces/one decided > stats.json 2> stats.err
check_equal "... and -o has the decisions" "$(jq -c '[.decision, .number, .act, .from, .to, .reason]' decisions)" \
    "$(jq -c '.decisions[] | [.decision, .number, .act, .from, .to, .reason]' stats.json)"
"$dpm" report traces/one decided > report 2> report.err
check "... which a report has, beside what was recorded" grep -q "^[0-9.]* *[mu]*s try  *shares of app slow" report
finish
