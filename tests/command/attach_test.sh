#!/bin/sh
# SPDX-License-Identifier: MIT
# attach_test.sh BUILD_FOLDER: kill -9 of the controller of a session. Another one attaches to it and goes on, without a
# loss; or the agents end by themselves: at whichever step it was killed, nothing is left that is stopped or traced, and
# what was recorded is readable.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs nats-server jq python3
. "$(dirname "$0")/local_hosts.sh"
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
worker=
trap 'end_local_hosts; [ -z "$worker" ] || kill "$worker" 2> kill.err; rm -rf "$scratch"' EXIT

# on COMMAND...: dpm COMMAND on these hosts, whose agents go on alone for TIME.
on() {
    subcommand=$1
    shift
    exec "$dpm" "$subcommand" --rsh "$scratch/rsh" --remote-dpm "$dpm" "$@"
}

# ---- another controller goes on ----

called=worker-$$.py # it is found by this name: no other process of the machine may have it
cat > "$called" << 'END'
import os, socket, time
a, b = socket.socketpair()
open("working", "w").close()
count = 0
while not os.path.exists("enough"):
    a.sendall(b"x" * 37)
    b.recv(37)
    count += 1
    time.sleep(0.005)
open("count", "w").write(str(count))
END
(on acquire -o first --session first --alone 1m --host a,b --name "$called" --flags send,receive --kinds unix) > first.out 2>&1 &
controller=$!
check "without such a process the recording fails" wait_for 30 grep -qF "$called" first.out
wait $controller
python3 "$called" &
worker=$!
wait_for 20 test -e working
(on acquire -o acquired --session second --alone 1m --host a,b --name "$called" --kinds unix) > second.out 2>&1 &
controller=$!
check "a recording begins" wait_for 30 grep -q '^dpm: metering 2 processes on 2 hosts; session second' second.out
"$dpm" acquire --attach second > third.out 2>&1
check "a session with a controller cannot be attached to" grep -q 'session second has a dpm that runs' third.out
wait_for 20 test -s acquired/a/data
kill -9 $controller
wait $controller 2> wait.err
"$dpm" acquire --attach none > third.out 2>&1
check_equal "a session that is not there is an error, and the line names the others" \
    "1 dpm: there is no session 'none' of yours on this machine; your sessions: second" "$? $(cat third.out)"
: > third.out
"$dpm" acquire --attach second > third.out 2>&1 &
controller=$!
check "another controller finds the recordings" wait_for 30 grep -q '^dpm: metering 2 processes on 2 hosts; session second' third.out
touch enough
wait $worker
worker=
wait $controller
check_equal "... and ends them in order" 0 $?
check "... without a loss" grep -q '^dpm: [1-9][0-9]* records of 2 hosts, 0 lost, in .*acquired$' third.out
"$dpm" dump --json acquired/a 2> dump.err > dump.json
# the process was metered while it ran already: what it sent before is missing, what came after that is not
check "... the messages are one sequence without a gap" jq -es '[.[] | select(.event == "SEND") | .sequence] as $s |
    ($s | length) > 10 and ([range(1; $s | length) | select($s[.] <= $s[. - 1])] | length) == 0' dump.json
check_equal "... the last record is the end" '"END"' "$(tail -n 1 dump.json | jq .event)"
check_equal "no session is left" "" "$(ls "$sessions")"
check "no agent is left" wait_for 30 no_agents

# ---- dpm job goes on ----

cat > pairs.py << 'END'
import os, socket, time
a, b = socket.socketpair()
count = 0
while not os.path.exists("pairs.enough"):
    a.sendall(b"x" * 37)
    b.recv(37)
    count += 1
    time.sleep(0.005)
print("sent", count, flush=True)
END
(on run -o third --session third --alone 1m --kinds unix --host a:'/usr/bin/python3 pairs.py' --host b:'/usr/bin/python3 pairs.py') \
    > third.out 2>&1 < /dev/null &
controller=$!
wait_for 30 test -s third/a/data
wait_for 30 test -s third/b/data
"$dpm" job --session third --attach jobs > job.out 2>&1
check "dpm job does not take a recording from its dpm" grep -q 'session third has a controller already' job.out
kill -9 $controller
wait $controller 2> wait.err
job() {
    timeout 100 "$dpm" job --session third --attach "$@" 2>> job.err
}
check_equal "a recording of dpm run whose dpm was killed is a job called main, with its processes" \
    "running python3 a all running python3.2 b all" \
    "$(job jobs main | sed -n 's/^[0-9][0-9]* *\(running .*\)/\1/p' | xargs)"
# Filters store what they were told to, and nothing else: 'second' has a job, and so has the filter of dpm run.
cat > few.py << 'END'
import socket
a, b = socket.socketpair()
for _ in range(50):
    a.sendall(b"x" * 37)
    b.recv(37)
END
# pids JOB: numbers of its processes
pids() { job jobs "$1" | sed -n 's/^\([0-9][0-9]*\) .*/[\1]/p'; }
job filter second > filter.out
for added in "other second" beside; do
    # shellcheck disable=SC2086 # a job, perhaps its filter
    { job newjob $added && job setflags "${added%% *}" all && job add "${added%% *}" a /usr/bin/python3 few.py && job startjob "${added%% *}" &&
        job wait "${added%% *}" && job stats "${added%% *}" --json; } > "${added%% *}.out"
    check_equal "a job is added: ${added}" 50 "$(sed -n '/^{/,$p' "${added%% *}.out" | jq '[.processes[].sent.messages] | add')"
done
check_equal "... its filter stores it, and no other one" "a a.beside b dpm-third-second.traces/a.other" \
    "$(find third -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs) $(ls -d dpm-third-second.traces/*)"
pids main > main.pids
pids beside > beside.pids
several_pictures() {
    grep -qF -f "$named.pids" "$1" && [ "$(grep -c '^dpm top' "$1")" -gt 2 ]
}
check "the processes of both jobs are known" sh -c '[ -s main.pids ] && [ -s beside.pids ]'
for named in main beside; do
    timeout 100 "$dpm" top "third/$named" > "top.$named" 2> top.err &
    top=$!
    wait_for 60 several_pictures "top.$named"
    kill $top
    wait $top
done
check "dpm top third/main: its processes" grep -qF -f main.pids top.main
check_not "... not those of another job in the same folder" grep -qF -f beside.pids top.main
check "dpm top third/beside: its processes" grep -qF -f beside.pids top.beside
check_not "... not those of main" grep -qF -f main.pids top.beside
touch pairs.enough
job wait main > job.out
check "... one to which dpm job has added another job is not for dpm acquire" grep -q 'session third has jobs' \
    "$("$dpm" acquire --attach third > more.out 2>&1; echo more.out)"
job removejob other > more.out
job removejob beside > more.out
check_equal "... they end" "killed python3 a all killed python3.2 b all" \
    "$(job jobs main | sed -n 's/^[0-9][0-9]* *\(killed .*\)/\1/p' | xargs)"
check "... and can be analysed" test "$(job stats main --json | jq '[.pairs[].messages] | add')" = \
    "$(awk '/: sent / { sum += $NF } END { print sum }' job.out)"
job die > die.out
check_equal "... and the session ends with its job" "" "$(ls "$sessions")"
check_equal "... with all that they have sent" "$(sed -n 's/.*@\([ab]\): sent /\1 /p' job.out | sort | xargs)" \
    "$(for host in a b; do echo $host "$("$dpm" stats --json third/$host 2> stats.err | jq '[.processes[].sent.messages] | add')"; done | xargs)"
check "... and each trace has its end" test "$(for host in a b; do "$dpm" dump --json third/$host 2> dump.err | tail -n 1; done | grep -c '"END"')" = 2
check "no agent is left by dpm job" wait_for 30 no_agents
timeout 60 "$dpm" job --session fourth newjob none > job.out 2>&1
check "a session of dpm job is not one for dpm acquire" grep -q 'session fourth has jobs: `dpm --session fourth --attach` goes on' \
    "$("$dpm" acquire --attach fourth > fourth.out 2>&1; echo fourth.out)"
timeout 60 "$dpm" job --session fourth die > job.out 2>&1

# ---- nobody comes ----

# What shows that the controller has come to a step: its server, an agent, all are connected and the filter starts, a recording is open, a process
# was created, the first records are here.
# shellcheck disable=SC2317 # called by wait_for
at_step() {
    case $2 in
    1) test -s "$sessions/$1/session.json" ;;
    2) [ -n "$(agents)" ] ;;
    3) test -s "$sessions/$1/filter-1.log" ;;
    4) [ -n "$(find "state/a/dpm/$(hostname)/agents" -path "*/agents/$1.*/main/metadata" -size +0 2> find.err)" ] ;;
    5) pgrep -f "^sleep 0.7$2$" ;;
    *) test -s "$1/a/data" ;;
    esac
}
# reached STEP: whether it has come to the step, or has ended before it was seen there
# shellcheck disable=SC2317 # called by wait_for
reached() {
    at_step "round$1" "$1" || grep -q '^State:.Z' "/proc/$controller/status"
}
steps="4 5 6"
if long_ones; then steps="1 2 3 4 5 6"; fi
for step in $steps; do
    check "no agent runs before" wait_for 60 no_agents
    (on run -o "round$step" --session "round$step" --alone 1s --host a:"sleep 0.7$step" --host b:"sh -c \"sleep 0.3; : $scratch\"") \
        > "round$step.out" 2>&1 < /dev/null &
    controller=$!
    wait_for 30 reached "$step"
    kill -9 $controller 2> kill.err && echo "# killed at step $step: $(tail -n 1 "round$step.out")"
    wait $controller 2> wait.err
done
check "all agents end by themselves" wait_for 60 no_agents
# shellcheck disable=SC2317 # called by wait_for
left() {
    for process in /proc/[0-9]*; do
        tr '\0' ' ' < "$process/cmdline" | grep -qE "^(sleep 0.7[0-9] |sh -c sleep 0.3; : $scratch)" && echo "${process#/proc/}"
    done 2> left.err
}
# shellcheck disable=SC2317 # called by wait_for
none_left() { [ -z "$(left)" ]; }
check "no process is left, stopped or traced" wait_for 30 none_left
unreadable=
for trace in round*/* "$scratch"/state/*/dpm/*/agents/*/main; do
    [ -s "$trace/metadata" ] || continue
    "$dpm" dump --json "$trace" > dump.json 2> dump.err || unreadable="$unreadable $trace"
done
check_equal "what was recorded is readable" "" "$unreadable"
# A session whose agents have ended still gives what they have left on their machines.
name=$(for session in "$sessions"/*; do [ -s "$session/filter-1.log" ] && basename "$session"; done | tail -n 1)
if [ -n "$name" ]; then
    "$dpm" acquire --attach "$name" > late.out 2>&1
    check "a session can be attached to when its agents have ended" test ! -e "$sessions/$name"
    sed 's/^/# /' late.out | tail -n 3
    check "... no agent is left" wait_for 30 no_agents
fi
finish
