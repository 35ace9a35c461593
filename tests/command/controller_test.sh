#!/bin/sh
# SPDX-License-Identifier: MIT
# controller_test.sh BUILD_FOLDER: the controller (dpm job): by script, from the shell, and on a terminal; on this machine and on
# two more, which are only folders of their own; every refusal that needs a session; a controller that is killed and
# another that goes on; and nothing that stays behind.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs python3 jq nats-server setpriv
tests=$(realpath "$(dirname "$0")")
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
export HOME="$scratch/home" XDG_STATE_HOME='' XDG_CONFIG_HOME=''
mkdir -p "$HOME/.config/dpm"
own=$(hostname)

# Agents, servers and filters go on without a controller, for 24 hours: also after a test that failed in the middle.
end_all() {
    for environment in $(grep -lsza "^HOME=$scratch/home" /proc/[0-9]*/environ); do
        pid=${environment#/proc/}
        kill "${pid%/environ}"
    done 2> /dev/null
    rm -rf "$scratch"
}
trap end_all EXIT

# A machine is a folder: its agent has a state of its own.
cat > rsh << END
#!/bin/sh
machine=\$1
shift
case \$machine in
away) echo "no route to \$machine" >&2; exit 255 ;;
late) [ -e $scratch/late.up ] || exit 255 ;;
plain) set -- setpriv --bounding-set=-all --inh-caps=-all "\$@" ;; # without privilege
esac
XDG_STATE_HOME=$scratch/\$machine XDG_CACHE_HOME=$scratch/\$machine exec "\$@"
END
chmod +x rsh
printf '# two machines\nworkers: web1 web2\n' > "$HOME/.config/dpm/machines"

# script NAME: dpm -f, with its output in out and err; returns its status.
script() {
    timeout 120 "$dpm" -f "$1" --rsh ./rsh --remote-dpm "$dpm" --session scripted > out 2> err
}

# left FOLDER...: what is in these and in that of the sessions, when it is nothing or, at the latest, in 30 s: agents and the
# server's supervisor remove their folders after the controller has ended.
find_all() {
    find "$HOME/.local/state/dpm/$own/sessions" "$@" -mindepth 1 2> find.err
}
none_of() {
    [ -z "$(find_all "$@")" ]
}
left() {
    wait_for 90 none_of "$@" # one whose connection broke just then ends by itself, a minute later
    find_all "$@"
}

# ---- every command, every state ----

sleep 300 &
acquired=$!
first=web1
second=web2
. "$tests/controller_commands.sh"
check "... and lives" kill -0 "$acquired"
"$dpm" stats --json log/*.sort > stats.json 2> stats.err
check_equal "... whole" "" "$(grep -e cut -e lost stats.err)"
says "... to a new place" 'dpm: log exists already: choose another name$' err
check_equal "a session that ended leaves no files" "" \
    "$(left web1/dpm/*/agents web2/dpm/*/agents)"

# ---- scripts in scripts ----

# one less than 17 levels goes; script 0 is the first
for i in $(seq 0 16); do
    printf 'source nested%d\nnewjob j%d\n' $((i + 1)) "$i" > "nested$i"
done
script nested0
check_equal "scripts nest 16 deep" "1 dpm: source: scripts are nested 16 deep at most" "$? $(grep source: err)"
check_equal "... and all that are within go on" 17 "$(grep -c '^job j[0-9]* created' out)"

# ---- a script that leaves a process ----

printf '%s\n' 'newjob stays' 'add stays web1 sleep 300' 'startjob stays' > stays
script stays
check_equal "a script that leaves a process: how to go on with it is said, and no warning" "0 1 0" \
    "$? $(grep -c '^1 process is active, and stays as it is: dpm --session scripted --attach goes on with it$' out) $(grep -c die err)"
printf '%s\n' 'stopjob stays' 'removejob stays' die > goes
timeout 120 "$dpm" --session scripted --attach -f goes --rsh ./rsh --remote-dpm "$dpm" > out 2> err
check_equal "... so it does" "0 1" "$? $(grep -c '^job stays removed$' out)"

# ---- from the shell, one command after the other ----

job() {
    timeout 60 "$dpm" job --rsh ./rsh --remote-dpm "$dpm" --session shell "$@" > out 2> err < /dev/null
}
job startjob a b
check_equal "a wrong command begins no session" "2 0" "$? $(find "$HOME/.local/state/dpm/$(hostname)/sessions" -mindepth 1 | wc -l)"
job newjob shell && job setflags shell all && job add shell web1 sh -c 'sleep 0.2; exit 3' && job startjob shell
check_equal "dpm job COMMAND goes on with the session" 0 $?
job wait shell
check_equal "... wait fails as a process does" "1 1 " "$? $(grep -c 'ended: exit status 3$' out) $(cat err)"
job why --json shell
check_equal "... options of analyses are theirs" "2" $?
job why shell --json
check_equal "... an analysis fetches all that was recorded" "true" "$(jq '.elapsed_ns > 150000000' out || head -c 300 out err)"

# A job's flags decide what is recorded, not only what is listed: counted in its traces.
cat > pipeline.sh << 'END'
for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; done | while read -r x; do :; done
END
job newjob none && job add none localhost sh "$PWD/pipeline.sh" && job startjob none && job wait none &&
    job newjob before && job setflags before send fork && job add before localhost sh "$PWD/pipeline.sh" && job startjob before &&
    job wait before &&
    job newjob after && job add after web1 sh "$PWD/pipeline.sh" && job setflags after send receive && job startjob after &&
    job wait after && job getlog default flags.log
check_equal "jobs without flags, with flags before and after their processes run" 0 $?
# recorded JOB: how many of these its trace has.
recorded() {
    "$dpm" dump "flags.log/"*".$1" 2> err | awk '{ $0 = " " $0 " "
        n[1] += / SEND /; n[2] += / RECEIVE /; n[3] += / CREATEPROCESS /; n[4] += / MESSAGEQUEUED /; n[5] += / BLOCK /; n[6] += / SCHEDULE / }
        END { print n[1] + 0, (n[2] > 0), n[3] + 0, n[4] + n[5] + n[6] }'
}
check_equal "... nothing is recorded without flags" "0 0 0 0" "$(recorded none)"
check_equal "... what was set before, of processes that are created" "10 0 2 0" "$(recorded before)"
check_equal "... what was set before they start, on another machine" "10 1 0 0" "$(recorded after)"
# another process reads a job by its name
"$dpm" dump flags.log/*.before | sed -n 's/.* \(sh\[[0-9]*\]\).*/\1/p' | sort -u > before.processes
for named in before shell/before; do
    check "dpm top $named: what the job's processes do" sh -c "timeout 60 '$dpm' top $named 2> err | grep -m 1 -qwF -f before.processes"
done
job removejob before && job newjob before && job setflags before send fork && job add before localhost sh "$PWD/pipeline.sh" && job startjob before &&
    job wait before && job stats before # which fetches what was recorded
check_equal "another job gets the name of one that was removed" 0 $?
"$dpm" dump dpm-shell-default.traces/*.before-2 2> err | sed -n 's/.* \(sh\[[0-9]*\]\).*/\1/p' | sort -u > again.processes
timeout 60 "$dpm" top before 2> err | grep -m 2 -wF -f again.processes -f before.processes > shown
check "dpm top before: it is meant now" grep -qwF -f again.processes shown
check_not "... not the earlier one" grep -qwF -f before.processes shown
check "dpm top of a session: what all jobs' processes do" sh -c "timeout 60 '$dpm' top shell 2> err | grep -m 1 -q '^dpm top  shell .* [0-9][0-9]* processes'"
"$dpm" top shell/missing 2> err
check_equal "dpm top of a job that there is not" "1 dpm: session shell has no job 'missing' its jobs: after before none shell" \
    "$? $(sed 's/; its jobs:.*//' err) its jobs: $(sed 's/.*; its jobs: //' err | tr -d ' ' | tr , '\n' | sort | xargs)"
"$dpm" top missing 2> err
check_equal "... nor any session with it" "1 dpm: missing: there is no such trace, folder, session or job" "$? $(cat err)"
job die
check_equal "... die ends it" "0 0" "$? $(left | wc -l)"

# ---- what happens without a controller ----

# Each command is a controller of its own. Output of both machines waits for the next one.
job newjob far && job setflags far all &&
    job add far workers sh -c "until [ -e $scratch/far.go ]; do sleep 0.05; done; echo late" && job startjob far
check_equal "processes of two machines start" 0 $?
: > far.go
: > far.shown
for _ in $(seq 50); do
    job jobs
    cat out >> far.shown
    [ "$(grep -c ': late$' far.shown)" -lt 2 ] || break
done
check_equal "a later controller shows what both have written" "sh.2@web2: late sh@web1: late" \
    "$(grep ': late$' far.shown | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
# one has seen the beginning of a line, and another one its end
job newjob half && job add half localhost sh -c 'printf half; read x; echo " a line"' && job startjob half
check_equal "a process that writes half a line starts" 0 $?
job jobs half
job input half sh x
for _ in $(seq 50); do
    [ "$(grep -c ': half a line$' out)" = 0 ] || break
    job jobs half
done
check_equal "a later controller shows the whole line" "sh@$own: half a line" "$(grep ' a line$' out)"
job filter
kill -9 "$(awk '$2 == "default" { print $1 }' out)"
job die
check_equal "die starts a filter that was killed, before it ends the session" "0 web1.far web2.far" \
    "$? $(cd dpm-shell-default.2.traces && echo *.far)"
"$dpm" stats --json dpm-shell-default.2.traces/*.far > stats.json 2> stats.err
check_equal "... what was recorded is whole" "" "$(grep -e cut -e lost stats.err)"
check_equal "... and no agent stays" "" "$(left web1/dpm/*/agents web2/dpm/*/agents)"

printf '%s\n' 'job early' 'process web1 true' 'analysis stats --jsno' > early.job
job run early.job
check_equal "an option of an analysis in the file of a job is checked before there is a job" "1 1 1 0" \
    "$? $(grep -c 'jsno' err) $(grep -c '^dpm: early.job:3: the options of stats are wrong' err) $(grep -c '^job early' out)"
job die

# ---- a machine that is out of reach ----

: > late.up
job newjob far && job add far late sh -c "until [ -e $scratch/late.go ]; do sleep 0.05; done" && job startjob far
check_equal "a process starts on a machine" 0 $?
rm late.up
job wait far
check_equal "... which cannot be reached: it is not waited for, and wait fails" "1 1" \
    "$? $(grep -c '^dpm: sh@late may still be running: its machine cannot be reached$' err)"
job jobs far
check_equal "... and jobs says that it is shown as last heard" "running 1" \
    "$(sed -n 's/^[0-9]* *\([a-z]*\) *sh *late .*/\1/p' out) $(grep -c '^note: late cannot be reached: its processes are shown as last heard$' out)"
: > late.up
: > late.go
job wait far
check_equal "... it is waited for when its machine is there again" 0 $?
job removejob far && job die
check_equal "... and no agent stays" "0 " "$? $(left late/dpm/*/agents)"
rm late.up

# ---- an agent that is killed while its processes are waited for ----

# agent_of MACHINE: the number of its agent's process
agent_of() {
    find /proc/[0-9]*/fd/2 -maxdepth 0 -lname "$scratch/$1/*/log" 2> find.err | cut -d / -f 3
}
# shellcheck disable=SC2317 # called by wait_for
has_started() {
    grep -q ': started$' out
}
cat > orphan << END
newjob orphan
setflags orphan send
add orphan web1 sh -c "until [ -e $scratch/orphan.go ]; do sleep 0.05; done"
startjob orphan
wait orphan
jobs orphan
startjob orphan
removejob orphan
END
: > out
script orphan &
waiting=$!
check "a process runs" wait_for 60 has_started
kill -9 "$(agent_of web1)"
wait $waiting
check_equal "wait ends, and fails, when another agent is in the place of the one that had the process" 1 $?
orphan=$(sed -n 's/^process sh created on web1: number //p' out)
check_equal "... it is not called ended" \
    "sh@web1 of job orphan is not controlled any more: its agent ended; it may still run there (process $orphan)" \
    "$(grep '^sh@web1 of job orphan' out)"
check_equal "... nor by jobs and startjob" "lost 1" \
    "$(sed -n "s/^$orphan *\([a-z]*\) *sh *web1 .*/\1/p" out) $(grep -c '^sh@web1: is lost: its agent ended$' out)"
check "... for it runs" kill -0 "$orphan"
: > orphan.go
check_equal "... it can be removed" 1 "$(grep -c '^sh@web1: removed$' out)"
check_equal "... and no agent stays" "" "$(left web1/dpm/*/agents web2/dpm/*/agents)"

# ---- a program of one's own as a filter, which ends early ----

cat > ends << 'END'
#!/bin/sh
echo $PPID > ends.pid # dpm's filter, which ends with it
while ! [ -e go ]; do sleep 0.02; done
echo trouble
exit 4
END
chmod +x ends
# shellcheck disable=SC2317 # called by wait_for
is_over() {
    grep -q '^State:.Z' "/proc/$(cat ends.pid)/status"
}
# shellcheck disable=SC2317 # called by wait_for
has_job() {
    grep -q 'job ours created' out
}
{
    printf 'filter mine localhost ./ends\nnewjob ours mine\n'
    wait_for 60 has_job && touch go && wait_for 60 is_over
    printf 'jobs\ngetlog mine mine.log\n'
} | script -
check_equal "a script whose filter ends early fails" 1 $?
check_equal "... which is printed, once, and getlog and die do not hide it" "dpm: filter mine ended with exit status 4 (trouble); what it has not stored of its jobs is lost
dpm: mine.log is not complete: filter mine has ended too early
dpm: filter mine has ended, and may not have stored everything
dpm: filter mine has ended, and may not have stored everything
dpm: the session ends without what is not stored yet" "$(cat err)"

# ---- a program of one's own as a filter gets the packets, here and on another machine ----

cat > counts << END
#!/bin/sh
"$dpm" filter --to-json > "$scratch/\$(cat "\$1").json"
END
chmod +x counts
echo here > words.here
echo there > words.there
for place in here there; do
    machine=web2
    [ $place = there ] || machine=localhost
    job filter $place $machine ./counts words.$place && job newjob $place $place && job setflags $place send &&
        job add $place web1 sh "$PWD/pipeline.sh" && job startjob $place && job wait $place
    check_equal "a job with a program as its filter, $place" "0 0" "$? $(wc -l < err)"
done
job filter
check_equal "... which run" "0 2" "$(grep -c ended out) $(grep -cE '^[0-9]+ +(here|there) ' out)"
job removejob here && job removejob there && job getlog there there.log && job die
check_equal "... is removed, and the session ends" 0 $?
# sends_are COUNT FILE
sends_are() {
    [ "$(jq -s '[.[] | select(.event == "SEND")] | length' "$2")" = "$1" ]
}
for place in here there; do
    # (`die` waits 5 s at most for what a program does with them)
    check "... and has got all records on its standard input, and the files as arguments ($place)" wait_for 30 sends_are 10 $place.json
done
check_equal "... and what it got is stored, too" "web1.there" "$(ls there.log)"

# ---- how machines are reached is kept ----

job newjob reached && job setflags reached send
# again COMMAND...: another controller of the session, in another folder, which does not say how machines are reached
again() {
    (cd "$HOME" && timeout 60 "$dpm" job --session shell "$@") > out 2> err < /dev/null
}
again add reached plain true
status=$?
cp out first
again newjob more && again add more plain true
check_equal "a later controller reaches machines as the first one did, from another folder" "0 0" "$status $?"
check_equal "... and prints a note once" "1 0" "$(grep -c '^note: plain: metering with ptrace: ' first) $(grep -c 'metering with ptrace' out)"
for command in 'stopjob reached' 'removejob reached' 'stopjob more' 'removejob more' die; do
    # shellcheck disable=SC2086 # two words
    again $command || sed "s/^/# $command: /" err
done
check_equal "... and ends what is there" "" "$(left web1/dpm/*/agents plain/dpm/*/agents)"

# ---- a session of the same name as one whose agent could not be ended ----

job newjob lost && job add lost web1 /no/such
cp err first
check "an agent is asked for a program" grep -q '^dpm: web1: .*/no/such' first
old=$(find web1/dpm/*/agents -name socket)
rm -rf "$HOME/.local/state/dpm/$(hostname)/sessions/shell"
job newjob lost && job add lost web1 /no/such
check_equal "... and another one, when the session was lost and begins again" "$(cat first)" "$(cat err)"
only_old() {
    [ "$(find web1/dpm/*/agents -name socket)" = "$old" ]
}
job die
status=$?
wait_for 30 only_old # the agent removes its folder after the controller has ended
check_equal "... which ends with it; the old one stays" "0 $old" "$status $(find web1/dpm/*/agents -name socket)"

# ---- a job in one file ----

if long_ones; then
cat > tsp.job << END
job tsp
flags send receive fork
process web1 sh -c 'echo a | cat; cat'
process web1 true
analysis stats --json
log tsp.log
END
job run tsp.job
check_equal "dpm job run: all in one file" 0 $?
check "... its analyses" grep -q '"processes"' out
check_equal "... its log" 1 "$(find tsp.log -mindepth 1 -maxdepth 1 | wc -l)"
sed 's/^analysis.*/analyse it/' tsp.job > wrong.job
job run wrong.job
check_equal "... an error in it, before anything happens" "1 1" \
    "$? $(grep -c "^dpm: wrong.job:5: 'analyse' is none of: job filter" err)"
job die

# ---- a filter with rules, on another machine ----

printf 'type=termination;\n' > right.rules
printf '%s\n' 'job selected' 'filter some web2' 'rules right.rules' 'process web1 sh -c "echo x; true"' \
    'log selected.log' > selected.job
job run selected.job
check_equal "a job whose filter has rules, on another machine" 0 $?
"$dpm" dump --json selected.log/* > dump.json 2> dump.err
check_equal "... its log has what they select, and nothing else" "TERMINATION" \
    "$(jq -r 'select(.sequence).event' dump.json | sort -u | grep -v DISCARDED | xargs)"
job die
cp right.rules templates
job filter standard
check "... the file templates is the standard one" grep -q "^filter standard selects by the rules in .*/templates\$" out
rm templates
job die
fi

# ---- controllers that are killed while the agent is asked ----

check_equal "controllers are killed, and others go on" "" \
    "$(mkdir killed && cd killed && timeout 300 python3 "$tests/controller_killed.py" "$dpm" 0 1 2>&1)"

# ---- on a terminal ----

check_equal "a session on a terminal" "" "$(timeout 120 python3 "$tests/controller_terminal.py" "$dpm" 2>&1)"
stays() {
    find "$HOME/.local/state/dpm/$(hostname)/sessions" "$HOME/.local/state/dpm/$(hostname)/agents" -mindepth 1
}
nothing_stays() {
    [ -z "$(stays 2> find.err)" ]
}
wait_for 60 nothing_stays # the server's supervisor removes its folder after the controller has ended
check_equal "nothing stays" "" "$(stays)"
kill "$acquired"
finish
