#!/bin/sh
# SPDX-License-Identifier: MIT
# live_views_test.sh BUILD_FOLDER: dpm top and dpm live find the monitor of `dpm view run`, and show its views as it reports them: against
# the account of queue_manager.c, to the end of the monitor. And dpm live answers why, on request.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
. "$tests/sample.sh"
need_meter
need_programs curl flock jq python3
HOME=$scratch
TMPDIR=$scratch
export HOME TMPDIR
unset XDG_STATE_HOME
called=strip-$$ # programs are found by name, and this test may run twice at once
cp "$build/tests/programs/queue-manager" "$scratch/$called"

# answered COUNT: the program has answered more often than that.
answered() {
    [ "$(grep -c '^ok' program.out)" -gt "$1" ]
}

# order LINE: sends a line to the program, and waits until it has done that.
order() {
    answers=$(grep -c '^ok' program.out)
    echo "$1" >&9
    wait_for 60 answered "$answers"
}

cat > full.view << EOF_
ATTRIBUTE DEFINITION FOR OBJECT QueueManager
    size: queue.q_size;
    AT "queue_changed";
END ATTRIBUTE DEF
VIEW DEF Full (size: QueueManager.size)
    ACTIVE WHEN QueueManager.size >= 15;
    CORRECT TO WITHIN 60 S;
    NOTIFY COMMAND "cat >> commanded" WITHIN 60 S;
END VIEW DEF
VIEW DEF Absent (size: QueueManager[7].size) ACTIVE WHEN QueueManager[7].size > 2; END VIEW DEF
VIEW DEF Idle (cpu: process[*].cpu) ACTIVE WHEN process[*].cpu > 1000; END VIEW DEF
EOF_
mkfifo orders
"./$called" --log log < orders > program.out &
program=$!
exec 9> orders
"$dpm" view --object QueueManager=$called run full.view > monitor.out 2> monitor.err &
monitor=$!

# ---- the state, as a request ----

state() {
    own=$(find "$scratch/.local/state/dpm" -name $monitor) 2> find.err
    "$dpm" view control "$own" state > state.json 2> state.err
}
# is JQ: the state is so.
is() {
    state && jq -e "$1" state.json > is.out
}
check "a monitor is found in a folder of its user" wait_for 60 state
check "... which others may not read" test "$(stat -c %a "$(dirname "$own")")" = 700
check "a view with its program is inactive" wait_for 60 is '.views[0] | .view == "Full" and .rows[0].state == "inactive"'
check "one without is unknown, and why" is '.views[1].rows[0] | .state == "unknown" and .reason == "no QueueManager[7]"'
check "rows of [*] that were never active are counted" is '.views[2] | (.rows | length) == 0 and .rows_quiet > 0'
check "... the plan says how values are collected" is '.views[0].plan.instances[0] | .collection == "traced" and (.how | startswith("traced"))'

# ---- dpm live ----

mkdir dpm-why.left dpm-why.used dpm-why.fresh
: > dpm-why.left/trace
touch -d '2 minutes ago' dpm-why.left dpm-why.used
flock -F dpm-why.used sleep 600 &
user=$!
wait_for 60 sh -c '! flock -n dpm-why.used true'
"$dpm" live --port 0 --interval 200ms --pid $program 2> live.err &
live=$!
wait_for 60 grep -q '/metrics' live.err
page=$(sed -n 's/^dpm: page of .*: \(http:[^ ]*\) (once.*/\1/p' live.err | head -n 1)
site=${page%%/\?*}
check_equal "what a dpm live that was killed has left of a recording is removed, what is in use is not" "dpm-why.fresh dpm-why.used" "$(echo dpm-why.*)"
kill $user
rm -r dpm-why.fresh dpm-why.used
curl -sf -c cookies -o page.html "$page"
snapshot() {
    curl -sf -m 60 -b cookies "$site/snapshot.json" > snapshot.json
}
# shows JQ: the row of Full is so in the latest snapshot.
shows() {
    snapshot && jq -e ".views[0].views[0].rows[0] | $1" snapshot.json > shows.out
}
check "dpm live finds the monitor by itself" wait_for 60 shows '.state == "inactive" and .times == 0'
check_equal "... it answers" null "$(jq '.views[0].unanswered' snapshot.json)"
for line in '+ 20' '- 10' '+ 10' '- 20' '+ 100'; do
    order "$line"
done
check "a view is active when the program's queue is long" wait_for 60 shows '.state == "active" and .values.size == 100'
# the last second of a view: what it has become since is not older than the program's order
check "... since when" shows '.since > 0 and .times == 3'
order '- 100'
check "... and inactive when it is short" wait_for 60 shows '.state == "inactive" and .times == 3'
check "CORRECT and WITHIN were kept" wait_for 60 sh -c 'curl -sf -b cookies "$1/snapshot.json" | jq -e ".views[0].views[0] |
    .correct_is == \"kept\" and .notifications.late == 0 and .notifications.queued == 3"' sh "$site"
snapshot
latest=$(jq .time.number snapshot.json)
curl -s -m 60 -b cookies -N "$site/events" | sed "/^id: $latest\$/,/^\$/{/^\$/q}" > events
sed -n 's/^data: \(.*"time".*\)/\1/p' events > snapshots
changes=$(jq -s -r '[.[].views[0].changes[] | select(.view == "Full" and .change == "active")] |
    "\(length) \([.[] | select(.notified)] | length)"' snapshots)
check_equal "... no change was missed" 0 "$(jq -s '[.[].views[0].missed] | add' snapshots)"

# ---- why, of a process that is metered ----

if long_ones; then
    curl -s -m 300 -b cookies -o answer -w '%{http_code}' "$site/why?from=0&to=1000000000&pid=$program" > code &
    asked=$!
    for count in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do # it does something in the ten seconds that are recorded
        order "+ $((count % 2))"
        sleep 1
    done
    wait $asked
    check_equal "the next ten seconds are recorded, for an answer" 200 "$(cat code)"
    check "... which is that of dpm why" grep -Eq 'SHARE|What threads' answer
    check_equal "... and nothing is left of them" "" "$(find "$scratch" -name 'dpm-why*')"
fi

# ---- dpm top ----

COLUMNS=100 "$dpm" top --view views --interval 200ms -n 15 --pid $program > top.out 2> top.err
check "dpm top draws the views" grep -Eq '^Full +inactive +[0-9.]+ m?s +3 +[0-9]+ of [0-9]+ [.!?#+]+ *$' top.out
check "... what is unknown, and why" grep -Eq '^Absent +unknown .* no QueueManager\[7\]$' top.out
check "... and a line for all rows that were never active" grep -Eq '^Idle\[\*\] +inactive .* [0-9]+ never active$' top.out
"$dpm" top --view views --monitor none --interval 200ms -n 2 --pid $program > none.out 2> none.err
check_equal "--monitor none shows none" 0 "$(grep -c '^Full' none.out)"
"$dpm" top --monitor no-socket -n 1 --pid $program > wrong.out 2> wrong.err
check_equal "a monitor that is not there is an error" 1 $?
check "... which names it" grep -q '^dpm: --monitor no-socket: no dpm view run listens there: ' wrong.err

# ---- a socket that the user has named; hostile monitors ----

"$dpm" view --control named --object QueueManager=$called run full.view > named.out 2> named.err &
named=$!
check "a monitor with --control is found, too" wait_for 60 sh -c 'curl -sf -b cookies "$1/snapshot.json" | jq -e ".views | length == 2"' sh "$site"
kill $named
wait $named
check "... and leaves no link" test -z "$(find "$scratch"/.local/state/dpm -type l)"
cat > hostile.py << 'END'
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
while True:
    one, _ = listener.accept()
    one.recv(4096)
    one.sendall(b'{"id":1,"result":{"time":1,"views":[{"view":"<b>"}]}}\n')
    print("closed" if one.recv(4096) == b"" else "asked again", flush=True)
END
python3 hostile.py "$(dirname "$own")/666" > hostile.out &
hostile=$!
wait_for 60 grep -q ready hostile.out
check "another program listens there: dpm live reads its answer, and asks no more" wait_for 60 grep -qx closed hostile.out
check "what another program answers there is not shown" sh -c 'curl -sf -b cookies "$1/snapshot.json" | jq -e ".views | map(.views[].view) | index(\"<b>\") == null"' sh "$site"
check "... but that it is not understood" wait_for 60 sh -c 'curl -sf -b cookies "$1/snapshot.json" | jq -e ".views | map(select(.monitor == \"666\")) |
    .[0].unanswered | startswith(\"another version\")"' sh "$site"
kill $hostile
wait $hostile
check "... the other monitor's views are" wait_for 60 shows '.state == "inactive"'

# ---- a monitor with too many connections ----

cat > many.py << 'END'
import socket, sys
path, many = sys.argv[1], []
while True: # those after the last that is taken are ended at once
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    many.append(one)
    try:
        one.sendall(b'{"id":1,"method":"counts"}\n')
        if one.recv(65536) == b"":
            break
    except OSError: # it was ended before the question came, or with it
        break
print("full", flush=True)
sys.stdin.read()
END
mkfifo held
python3 many.py "$own" < held > many.out &
many=$!
exec 8> held
check "a monitor takes so many connections, and no more" wait_for 60 grep -qx full many.out
COLUMNS=100 "$dpm" top --view views --monitor "$own" --interval 200ms -n 15 --pid $program > many.top 2> many.err
check "... which is not taken for its end" grep -q 'the monitor ended the connection' many.top
exec 8>&-
wait $many

# ---- the end of the monitor ----

kill -9 $monitor
wait $monitor
check "the monitor is killed: nothing is known" wait_for 60 sh -c 'curl -sf -b cookies "$1/snapshot.json" |
    jq -e ".views[0].unanswered == \"the monitor has ended\""' sh "$site"
check "... its socket is removed by the next one that looks" wait_for 90 test ! -e "$own"
echo quit >&9
exec 9>&-
wait $program
# truth: the program's own account
upward=$(awk -v most=15 '$1 >= most && before < most { count++ } { before = $1 } END { print count + 0 }' log)
check_equal "each upward crossing was one change, once, over all snapshots, and notified" "$upward $upward" "$changes"
kill $live
wait $live
check_equal "dpm live ends in order" 0 $?

# ---- more changes than a monitor keeps ----

mkfifo many_orders
"./$called" < many_orders > many_orders.out &
program=$!
exec 9> many_orders
"$dpm" view --control many_views --object QueueManager=$called run full.view > many_views.out 2> many_views.err &
monitor=$!
cat > asks.py << 'END'
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.connect("many_views")
since = f'"since":{sys.argv[1]}' if len(sys.argv) > 1 else ""
one.sendall(b'{"id":1,"method":"state","params":{%s}}\n' % since.encode())
print(one.makefile().readline())
END
# told JQ [SINCE]: the state says so, to one that knows the changes up to SINCE.
told() {
    jq_words=$1
    shift
    python3 asks.py "$@" > told.json 2> told.err && jq -e ".result | $jq_words" told.json > told.out
}
check "a monitor begins" wait_for 60 told '.views[0].rows[0].state == "inactive"'
/usr/bin/python3 -c 'print("+ 20\n- 20\n" * 1010, end="")' >&9
check "... and has more changes than it keeps" wait_for 120 told '.last >= 2020 and (.more | not)' 2019
check "one that asks first has missed none" told '.missed == 0 and .more and (.changes | length) == 500'
check "... it gets the oldest that are kept" told ".changes[0].number == $(python3 asks.py 2019 | jq .result.last) - 1999"
check "one that knows the first change has missed those before the oldest" told '.missed == .changes[0].number - 2' 1
echo quit >&9
exec 9>&-
wait $program
kill $monitor
wait $monitor

# ---- why, on request ----

"$dpm" live --port 0 --pace 100 alpha 2> why.err &
live=$!
wait_for 60 grep -q '/metrics' why.err
page=$(sed -n 's/^dpm: page of .*: \(http:[^ ]*\) (once.*/\1/p' why.err | head -n 1)
site=${page%%/\?*}
# status OPTION...: the HTTP status of the answer.
status() {
    curl -s -m 60 -o answer -w '%{http_code}' "$@"
}
check_equal "why needs the cookie" 401 "$(status "$site/why?from=0&to=1000000000")"
curl -sf -c cookies -o page.html "$page"
has_snapshot() {
    curl -sf -b cookies "$site/snapshot.json" | jq -e .time.last
}
check "there are snapshots, by whose clock the page asks" wait_for 60 has_snapshot
check_equal "... and then answers" 200 "$(status -b cookies "$site/why?from=0&to=10000000000")"
COLUMNS=100 "$dpm" why --from 0s --to 10s alpha > why.out 2>&1
check_equal "... as dpm why does" "$(cat why.out)" "$(cat answer)"
# The page counts from the first event, which is 1 ms after MACHINE, --from from MACHINE on.
check_equal "a part of the time is asked for" 200 "$(status -b cookies "$site/why?from=20000000&to=60000000")"
COLUMNS=100 "$dpm" why --from 21ms --to 61ms alpha > why.out 2>&1
check_equal "... by the page's clock" "$(cat why.out)" "$(cat answer)"
for wrong in '' '?from=5&to=5' '?from=0&to=60000000001' '?from=-1&to=9' '?from=0&to=1x' '?from=0&to=9&pid=;id' '?from=0&to=9&pid=99999999999'; do
    check_equal "what is no question: '$wrong'" 400 "$(status -b cookies "$site/why$wrong")"
done
kill $live
wait $live
check_equal "dpm live ends in order" 0 $?
finish
