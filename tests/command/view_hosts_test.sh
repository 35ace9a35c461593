#!/bin/sh
# SPDX-License-Identifier: MIT
# view_hosts_test.sh BUILD_FOLDER: `dpm view run --host`: a view over queue managers on two hosts (scripts/hosts), against
# their own accounts; notified within WITHIN; the end of an agent and of the monitor.
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
EOF_
begin web1
begin db1
exec 8> "$shared/web1" 9> "$shared/db1"
"$dpm" view --host web1,db1 --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" \
    --object QueueManager=queue-manager --json run both.view > lines 2> err &
monitor=$!
wait_for 60 has_line lines '"There","row":"web1:'
wait_for 60 has_line lines '"There","row":"db1:'
check "the clocks of both are printed, with their bounds" has_line err 'web1: its clock is [0-9.]* ms [ab][a-z]*, to .* ms'
order web1 8 '+ 30'
wait_for 30 has_line lines '"row":"web1:.*"size":30'
check_not "one condition is not enough" has_line lines '"Both"'
order db1 9 '+ 25'
wait_for 30 has_line lines '"Both","change":"active"'
pass "both conditions, on two machines"
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
wait_for 30 sh -c '[ "$(grep -c "\"Both\",\"change\":\"inactive\"" lines)" = 2 ]'
pass "the agent is killed: the view is inactive"
order db1 9 '+ 5'
kill -INT $monitor
wait $monitor
check_equal "a signal ends it" 0 $?
check_equal "both notifications were sent in time" '2 2 0 0' \
    "$(jq -r 'select(.end) | .end.notifications[0] | "\(.queued) \(.sent) \(.late) \(.dropped)"' lines)"
echo quit >&8
echo quit >&9
exec 8>&- 9>&-
wait
check_equal "the programs' own accounts are complete" '85 41' "$(wc -l < "$shared/web1.log") $(wc -l < "$shared/db1.log")"
timeout 100 "$dpm" view --host nobody --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" run both.view > out 2> err
check_equal "a host that cannot be reached" 1 $?
check "... is an error" has_line err 'dpm: cannot connect to all hosts'
finish
