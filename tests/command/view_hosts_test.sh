#!/bin/sh
# SPDX-License-Identifier: MIT
# view_hosts_test.sh BUILD_FOLDER: `dpm view run --host`: a view over queue managers on two hosts (scripts/hosts), against
# their own accounts, and figures of both; notified within WITHIN; the end of an agent, which comes back, and of the monitor.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
long_ones || skip_all "making hosts takes long: only with ./dev test --all"
need_meter
need_programs ip ssh python3 jq nats-server unshare setpriv
hosts=$(realpath "$(dirname "$0")/../../scripts/hosts")
manager=$(realpath "$1/tests/programs/queue-manager")
dir=$scratch/hosts

# shellcheck disable=SC2317 # called by trap
leave() {
    exec 8>&- 9>&-
    "$hosts" down "$dir"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" web1 db1 > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
shared=$dir/shared
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"

has_line() {
    grep -q "$2" "$1" 2> /dev/null
}
answered() {
    [ "$(grep -c '^ok' "$1")" -gt "$2" ]
}
# order HOST FILE LINE
order() {
    answers=$(grep -c '^ok' "$shared/$1.out")
    echo "$3" >&"$2"
    wait_for 30 answered "$shared/$1.out" "$answers"
}
# begin HOST: a queue manager there, with its account
begin() {
    mkfifo "$shared/$1"
    "$hosts" run "$dir" "$1" "$manager" --log "$shared/$1.log" < "$shared/$1" > "$shared/$1.out" &
}

cat > both.view << 'EOF_'
ATTRIBUTE DEFINITION FOR OBJECT QueueManager
    size: queue.q_size;
    AT "queue_changed";
END ATTRIBUTE DEF
VIEW DEF Both (one: QueueManager["web1:queue-manager"].size, two: QueueManager["db1:queue-manager"].size)
    ACTIVE WHEN (QueueManager["web1:queue-manager"].size > 24) AND (QueueManager["db1:queue-manager"].size > 24);
    CORRECT TO WITHIN 10 S;
    NOTIFY COMMAND "cat >> notified" WITHIN 20 S;
END VIEW DEF
VIEW DEF There (size: QueueManager[*].size) ACTIVE WHEN QueueManager[*].size >= 0; END VIEW DEF
VIEW DEF Low (size: QueueManager["web1:queue-manager"].size) ACTIVE WHEN QueueManager["web1:queue-manager"].size > 1000;
END VIEW DEF
VIEW DEF Machines (cpu: machine[*].cpu) ACTIVE WHEN machine[*].cpu >= 0 AND machine[*].processes > 0; END VIEW DEF
VIEW DEF Mixed (pid: process["db1:queue-manager"].Process-Id, machine: process["db1:queue-manager"].machine)
    ACTIVE WHEN QueueManager["web1:queue-manager"].size > 24 AND process["db1:queue-manager"].cpu >= 0;
    CORRECT TO WITHIN 10 S;
END VIEW DEF
EOF_
begin web1
begin db1
exec 8> "$shared/web1" 9> "$shared/db1"
"$dpm" view --host web1,db1 --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" \
    --object QueueManager=queue-manager --control control --json run both.view > lines 2> err &
monitor=$!
wait_for 60 has_line lines '"There","row":"web1:'
wait_for 60 has_line lines '"There","row":"db1:'
check "the clocks of both are printed, with their bounds" has_line err 'web1: its clock is [0-9.]* ms [ab][a-z]*, to .* ms'
order web1 8 '+ 30'
wait_for 30 has_line lines '"row":"web1:.*"size":30'
check_not "one condition is not enough" has_line lines '"Both"'
wait_for 30 has_line lines '"Mixed","change":"active"'
"$hosts" run "$dir" db1 pgrep -x queue-manager > pid
check_equal "a variable on one machine and a figure on the other" "$(cat pid) db1" \
    "$(jq -r 'select(.view == "Mixed" and .change == "active") | .values | "\(.pid | round) \(.machine)"' lines | head -n 1)"
wait_for 30 has_line lines '"Machines","row":"web1",'
check "figures of both machines" wait_for 30 has_line lines '"Machines","row":"db1",'
order db1 9 '+ 25'
check "both conditions, on two machines" wait_for 30 has_line lines '"Both","change":"active"'
order db1 9 '- 1'
wait_for 30 has_line lines '"Both","change":"inactive"'
order web1 8 '- 30'
wait_for 30 sh -c '[ "$(grep -c "\"row\":\"web1:[^}]*\"size\":0" lines)" = 2 ]' # else it may still count
order db1 9 '+ 10'
wait_for 30 has_line lines '"row":"db1:[^}]*"size":34'
order web1 8 '+ 25'
wait_for 30 sh -c '[ "$(grep -c "\"Both\",\"change\":\"active\"" lines)" = 2 ]'
check_equal "the values are those of the programs" '30 25 25 34' \
    "$(jq -r 'select(.view == "Both" and .change == "active") | .values | "\(.one | round) \(.two | round)"' lines | xargs)"

# ---- the agent of one is killed: nothing of it counts any more, and its program goes on ----

"$hosts" run "$dir" db1 pkill -9 -x dpm-agent
wait_for 60 has_line err 'note: db1: its instances count as ended'
check "the agent is killed: the view is inactive" wait_for 30 sh -c '[ "$(grep -c "\"Both\",\"change\":\"inactive\"" lines)" = 2 ]'
wait_for 60 has_line err 'note: db1: it is back, and its instances appear again'
wait_for 60 sh -c '[ "$(grep -c "\"Both\",\"change\":\"active\"" lines)" = 3 ]'
check "it is started anew: its instances count again" wait_for 30 sh -c 'sed -n "/\"Both\",\"change\":\"inactive\"/,\$p" lines | grep -q "\"Machines\",\"row\":\"db1\""'
order db1 9 '+ 5'
wait_for 30 has_line lines '"row":"db1:[^}]*"size":39'

# ---- the connection to the other one breaks: its agent lives, and is found again ----

"$dpm" view control control threshold Low 1 5
wait_for 30 has_line lines '"Low","change":"active"'
shell=$(pgrep -P $monitor -f web1)
agent=$("$hosts" run "$dir" web1 pgrep -x dpm-agent)
kill -9 "$shell"
wait_for 60 has_line err 'note: web1: its instances count as ended'
wait_for 60 has_line err 'note: web1: it is back, and its instances appear again'
wait_for 60 sh -c '[ "$(grep -c "\"Both\",\"change\":\"active\"" lines)" = 4 ]'
check_equal "a connection breaks: the same agent is found, and its instances count again" "$agent" \
    "$("$hosts" run "$dir" web1 pgrep -x dpm-agent)"
check "... with the threshold that was changed before" wait_for 30 sh -c '[ "$(grep -c "\"Low\",\"change\":\"active\"" lines)" = 2 ]'
kill -INT $monitor
wait $monitor
check_equal "a signal ends it" 0 $?
check_equal "all notifications were sent in time" '4 4 0 0' \
    "$(jq -r 'select(.end) | .end.notifications[0] | "\(.queued) \(.sent) \(.late) \(.dropped)"' lines)"
check "what web1 counted before its connection broke is in the sum" \
    [ "$(jq 'select(.end) | .end.hits' lines)" -ge "$(wc -l < "$shared/web1.log")" ]
check_not "clocks are asked again, and agree" grep -q 'a clock was set' err
echo quit >&8
echo quit >&9
exec 8>&- 9>&-
wait
check_equal "the programs' own accounts are complete" '85 41' "$(wc -l < "$shared/web1.log") $(wc -l < "$shared/db1.log")"
timeout 100 "$dpm" view --host nobody --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" run both.view > out 2> err
check_equal "a host that cannot be reached" 1 $?
check "... is an error" has_line err 'dpm: cannot connect to this host'
finish
