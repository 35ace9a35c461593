#!/bin/sh
# SPDX-License-Identifier: MIT
# controller_hostile_test.sh BUILD_FOLDER: agents that are none, of another version, or hostile (hostile_agent.py): one clear line
# for each, no crash, no hang, and nothing that a terminal obeys.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh" # wait_for
need_programs python3 nats-server
tests=$(realpath "$(dirname "$0")")
dpm=$(realpath "$1/dpm")
cd "$scratch" || exit 1
export HOME="$scratch/home" XDG_STATE_HOME='' XDG_CONFIG_HOME=''
mkdir "$HOME"

# shellcheck disable=SC2317 # called by trap
end_all() {
    timeout 60 "$dpm" job --session evil die > end.out 2>&1
    rm -rf "$scratch"
}
trap end_all EXIT

printf '#!/bin/sh\nexec python3 %s/hostile_agent.py "$1"\n' "$tests" > rsh
chmod +x rsh
wrong=12 # answers to process.create
{
    echo 'newjob j'
    for i in $(seq $((wrong + 1))); do
        echo "# answer $i"
        echo 'add j create true'
    done
    printf '%s\n' 'jobs j' 'newjob others' 'add others version true' 'add others reply true' 'add others noise true' \
        'add others noise true' 'newjob n' 'add n notices true' 'startjob n' 'wait n' 'jobs n' 'removejob n' 'removejob others' \
        'stopjob j' 'removejob j' 'die'
} > evil
timeout 100 "$dpm" -f evil --rsh ./rsh --session evil > out 2> err
check_equal "it comes to its end, with an error" 1 $?
cat > expected << 'END'
create: the reply is not valid JSON: invalid token near 'no'
create: the reply is not one of dpm's control protocol
create: the reply has neither a result nor an error, or both
create: the reply has neither a result nor an error, or both
create: the reply is not a valid one: "error" has no code or no message
create: ?[2Jtwo?lines
create: the reply is to another request
create: its agent answers what this version of dpm does not understand: "pid" is not a number, or missing
create: its agent answers what this version of dpm does not understand: "pid" is not a number, or missing
create: its agent answers what this version of dpm does not understand: "pid" is -1
create: its agent answers what this version of dpm does not understand: "pid" is 99999999999999
create: the reply is not valid JSON: maximum parsing depth reached near '['
version: the other side speaks version 2 of dpm's control protocol, this one version 1: install the same version of dpm on both machines
reply: the other side speaks version 2 of dpm's control protocol, this one version 1: install the same version of dpm on both machines
noise: not dpm, but something else answers: "Welcome to evil"; does a start-up file of the remote shell print this?
noise: not dpm, but something else answers: "Welcome to evil"; does a start-up file of the remote shell print this?
notices: its agent says what this version of dpm does not understand: process.ended: "status" is not a number, or missing
END
sed -n 's/^dpm: //p' err > lines
check "one line for each wrong answer, version and report" diff expected lines
check_equal "... and no other" "$(wc -l < expected)" "$(wc -l < err)"
check_equal "what is right among them counts: a process is created" 1 "$(grep -c '^process true created on create: number 4000000$' out)"
check_equal "... and one ends" 1 "$(grep -c '^true@notices of job n ended: exit status 5$' out)"
check_equal "... once" 1 "$(grep -c '^[0-9]* *killed *true *notices' out)"
check_equal "nothing reaches the terminal but text" 0 "$(LC_ALL=C grep -c '[^ -~]' out err | awk -F: '{ n += $2 } END { print n }')"
sessions() {
    find "$HOME/.local/state/dpm/$(hostname)/sessions" -mindepth 1
}
no_session() {
    [ -z "$(sessions)" ]
}
wait_for 30 no_session # the server's supervisor removes its folder after the controller has ended
check_equal "the session ends" "" "$(sessions)"

# ---- recordings that are not whole ----

# recorded MACHINE COMMAND: a job there, whose process ends in order, and then this command
recorded() {
    printf '%s\n' 'newjob j' "add j $1 true" 'startjob j' 'wait j' "$2" > recorded
    timeout 100 "$dpm" -f recorded --rsh ./rsh --session evil > out 2> err
}
recorded full 'removejob j'
check_equal "a recording that has ended early: removejob fails, and gives the reason" \
    "1 dpm: full: the recording of job j ended early: its trace could not be written" "$? $(cat err)"
check_equal "... when it ends, the job is named" 1 "$(grep -c '^full: the recording of job j ended: no space left$' out)"
wait_for 30 no_session
recorded full 'removejob j
newjob k
add k full true
startjob k
wait k
removejob k'
check_equal "what the meter has missed is noted for each job, though it is the same" 2 \
    "$(grep -c '^note: full: ?\[2J2 messages are missed$' out)"
wait_for 30 no_session
recorded full die
check_equal "... die fails, too, and ends the session" \
    "1 dpm: full: the recording of job j ended early: its trace could not be written" "$? $(cat err)"
wait_for 30 no_session
recorded stuck die
check_equal "a recording that cannot be ended: die warns; another one ends the session" "1 dpm: stuck: its recording is not ended: no space left
dpm: \`die\` again ends the session without what is not stored yet
dpm: stuck: its recording is not ended: no space left
dpm: the session ends without what is not stored yet" "$? $(cat err)"
wait_for 30 no_session
check_equal "... which ends" "" "$(sessions)"

printf '%s\n' 'newjob j' 'add j rigid true' 'setflags j send' 'jobs j' 'stopjob j' 'removejob j' die > rigid
timeout 100 "$dpm" -f rigid --rsh ./rsh --session evil > out 2> err
check_equal "jobs shows that flags could not be set" "1 1" \
    "$(grep -c '^dpm: flags are not set on rigid: no space left$' err) $(grep -c '^note: these flags are not set on all machines' out)"

timeout 60 "$dpm" run --rsh ./rsh --session some -o some.traces --host deaf:true --host version:true < /dev/null > out 2> err
check_equal "one of two hosts cannot be used: how many is said" 1 \
    "$(grep -c '^dpm: cannot connect to 1 of 2 hosts; nothing was started$' err)"
timeout 60 "$dpm" run --rsh ./rsh --session none -o none.traces --host version:true < /dev/null > out 2> err
check_equal "... the only one" 1 "$(grep -c '^dpm: cannot connect to this host$' err)"

"$dpm" run --rsh ./rsh --session deaf -o deaf.traces --host deaf:true < /dev/null > out 2> err &
run=$!
check "a process of dpm run --host runs" wait_for 60 grep -q begun out
kill -TERM $run
check "a signal that it does not get is reported" wait_for 30 grep -q '^dpm: deaf: true did not get SIGTERM: no space left$' err
kill -TERM $run
wait $run
check_equal "a recording that its agent cannot end: the agent's reason is given, and no other one" "1 0" \
    "$(grep -c '^dpm: deaf: its recording could not be ended: no space left$' err) $(grep -c 'could not be ended from here' err)"

"$dpm" acquire --rsh ./rsh --session busy -o busy.traces --host busy --name x > out 2> err &
recording=$!
check "a host is metered" wait_for 60 grep -q '^dpm: metering 1 process on 1 host; session busy' err
sleep 1 # in which it does not end by itself
: > asked
kill -TERM $recording
wait $recording
check_equal "a host on which a metered process lives again is metered until it is to end" 0 "$(grep -c 'could not be ended' err)"
finish
