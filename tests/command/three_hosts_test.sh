#!/bin/sh
# SPDX-License-Identifier: MIT
# three_hosts_test.sh BUILD_FOLDER: a web site on three hosts (scripts/hosts): nginx, two back ends, postgres; metered by
# one dpm acquire --host. Messages and bytes are those that the programs count themselves (nginx's log, the back ends,
# postgres' statistics) and those of a recording of the same site on a single host; what the report says first is the
# cause that was built in: a slow back end, a slow query.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip ssh python3 jq nats-server unshare setpriv nginx psql curl
hosts=$(realpath "$(dirname "$0")/../../scripts/hosts")
shift_trace=$(realpath "$1/tests/programs/shift")
programs=$(realpath "$(dirname "$0")/../programs")
dir=$scratch/hosts
chmod 755 "$scratch"

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" web1 app1 db1 > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
rsh="ssh -F $dir/ssh_config"
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"
traces=$dir/shared
requests=100 # of each of four clients

on() {
    "$hosts" run "$dir" "$@"
}

# start HOST NAME COMMAND...: a server there, with its messages in NAME.out.
start() {
    host=$1
    name=$2
    shift 2
    rm -f "$name.out" # an earlier site had one of this name
    on "$host" "$@" > "$name.out" 2>&1 < /dev/null &
    servers="$servers $!"
}

# start_site WEB APP DATABASE REST_OF_THE_SECOND QUERY_TIME
start_site() {
    site=$dir/shared/site
    servers=
    rm -rf "$site"
    mkdir "$site"
    start "$3" database "$programs/web_site.sh" database "$site/database" 5432 "$5"
    wait_for 60 ask_database "$3" "select 1" || skip_all "postgres does not answer: $(tail -n 1 database.out)"
    start "$2" first python3 "$programs/back_end.py" 7001 "$3" 5432 0
    start "$2" second python3 "$programs/back_end.py" 7002 "$3" 5432 "$4"
    start "$1" web "$programs/web_site.sh" web "$site/web" 8080 "$2:7001" "$2:7002"
    wait_for 30 grep -q ready first.out && wait_for 30 grep -q ready second.out
    wait_for 30 on "$1" curl -sf http://localhost:8080/ || skip_all "nginx does not answer: $(cat web.out)"
}

end_site() {
    for each in web1 app1 db1; do
        on $each pkill -TERM -f back_end.py
        on $each pkill -INT -u nobody postgres
        on $each pkill -TERM nginx
    done
    # shellcheck disable=SC2086 # one word for each
    wait $servers
}

ask_database() {
    on "$1" psql -h "$1" -p 5432 -U postgres -At -c "$2" postgres
}

# take_counts APP FILE: the counts of both back ends.
take_counts() {
    on "$1" curl -s http://localhost:7001/counts http://localhost:7002/counts > "$2"
}

# What the programs themselves count while the load runs, as sent and received messages and bytes: from the back ends'
# counts before and after, and from nginx's log.
back_ends_count() {
    jq -sc 'def sum(way): [(map(.client, .database | .[way].messages) | add), (map(.client, .database | .[way].bytes) | add)];
        (.[2:] | sum("sent")) as $s1 | (.[2:] | sum("received")) as $r1 |
        (.[:2] | sum("sent")) as $s0 | (.[:2] | sum("received")) as $r0 |
        [$s1[0] - $s0[0], $s1[1] - $s0[1], $r1[0] - $r0[0], $r1[1] - $r0[1]]' before after
}
nginx_counts() {
    tail -n "+$((logged + 1))" "$site/web/access.log" |
        awk '{ sent += $1 + $4; received += $2 + $5 } END { printf "[%d,%d,%d,%d]\n", 2 * NR, sent, 2 * NR, received }'
}

# counts_of_program PROGRAM: the same, in the recording.
counts_of_program() {
    jq -c --arg name "$1" '[.processes[] | select(.program | startswith($name))] |
        [(map(.sent.messages) | add), (map(.sent.bytes) | add), (map(.received.messages) | add), (map(.received.bytes) | add)]' stats.json
}

# pairs: messages and bytes from program to program.
pairs() {
    jq -r '(.processes | map({key: "\(.id)", value: .program}) | from_entries) as $name |
        [.pairs[] | {from: $name["\(.from)"], to: $name["\(.to)"], messages, bytes}] | map(select(.from != null and .to != null)) | group_by([.from, .to])[] |
        [.[0].from, .[0].to, (map(.messages) | add), (map(.bytes) | add)] | join(" ")' stats.json | sort
}

# traces_of: one, or those of all hosts.
traces_of() {
    [ -e "$traces/$name/metadata" ] && echo "$traces/$name" || ls -d "$traces/$name"/*
}

# record NAME WEB APP DATABASE OPTION...: the site is metered by dpm acquire OPTION..., while requests come.
record() {
    name=$1
    web=$2
    app=$3
    database=$4
    shift 4
    rm -rf "${traces:?}/$name"
    : > err
    wait_for 60 called_at_all "$database"
    take_counts "$app" before
    "$@" -o "$traces/$name" --kinds tcp --name nginx --name back_end.py --name postgres > out 2> err &
    acquire=$!
    wait_for 60 grep -q '^dpm: metering' err
    logged=$(wc -l < "$site/web/access.log")
    calls=$(ask_database "$database" "select calls from pg_stat_user_functions where funcname = 'answer'")
    on "$database" timeout 120 python3 "$programs/web_load.py" "$web" 8080 4 $requests > load.out
    wait_for 60 all_logged
    end_recording
    wait $acquire
    status=$?
    take_counts "$app" after
    # what processes have done that are idle now, postgres counts after some seconds
    wait_for 60 all_called
    grep 'the kernel skipped hooks' err > dump.err # repeat looks for it
    # shellcheck disable=SC2046 # one word for each
    "$dpm" stats --json $(traces_of) > stats.json 2> stats.err
}

all_logged() {
    test "$(wc -l < "$site/web/access.log")" -ge $((logged + 4 * requests))
}
called_at_all() {
    sleep 0.5
    test "$(ask_database "$1" "select calls from pg_stat_user_functions where funcname = 'answer'")" = 1
}
all_called() {
    sleep 0.5
    called=$(ask_database "$database" "select calls from pg_stat_user_functions where funcname = 'answer'")
    test $((called - calls)) -ge $((4 * requests))
}

# record_hosts NAME: on all three hosts
record_hosts() {
    end_recording() { pkill -INT -P $acquire; }
    record "$1" web1 app1 db1 timeout 120 "$dpm" acquire --rsh "$rsh" --remote-dpm "$dpm" --host web1,app1,db1
}
record_one() {
    end_recording() { on app1 pkill -INT -x dpm; }
    record "$1" app1 app1 app1 timeout 120 "$hosts" run "$dir" app1 "$dpm" acquire
}

# check_account: what the programs count is what was recorded
check_account() {
    check_equal "$name: the load is answered, and dpm ends in order" "answered $((4 * requests)) 0" "$(cat load.out) $status"
    check_equal "... nothing was lost" 0 "$(jq .trace.lost stats.json)"
    check_equal "... messages and bytes of nginx are those of its log" "$(nginx_counts)" "$(counts_of_program nginx)"
    check_equal "... those of the back ends, their own" "$(back_ends_count)" "$(counts_of_program python)"
    check_equal "... postgres has got as many queries as it counts itself, each answered with one message" \
        "$((called - calls)) $((called - calls))" \
        "$(awk '/^python.* postgres|^postgres python/ { print $3 }' account | xargs)"
    check "... every message between them is matched exactly" jq -e '.trace.matching |
        .exact == 16 * '$requests' and .unmatched_sends == 0 and .unmatched_receives == 0' stats.json
}

# first_finding: what the report says first, in one line
first_finding() {
    sed -n '/^Time/,/^[A-SU-Z]/p' err | sed '$d' | xargs | tr -s ' '
}

# pid_of_second: the back end with port 7002
pid_of_second() {
    on app1 pgrep -f 'back_end.py 7002'
}

# ---- a slow back end ----

start_site web1 app1 db1 0.02 0
slow=$(pid_of_second)
repeat record_hosts slow
pairs > account
cp account hosts.account
check_account
check "what is said first is true: the second back end sleeps" \
    test -n "$(first_finding | grep "Time .* of the time of .* requests .*\[$slow\]@app1 slept until a timer ended (clock_nanosleep)")"
check_equal "... for as long as it was told to, each time" yes "$(jq -r --argjson pid "$slow" '
    .processes[] | select(.pid == $pid and .machine == "app1") | if .sent.messages == '$((4 * requests))' then "yes" else .sent.messages end' stats.json)"
end_site

# ---- clocks that are wrong, and drift ----

# A packet's trace is rewritten with another clock. Its error is known: what shift adds. ahead_ns is how far the clock was
# ahead at the last record.
for ppm in 0 200 -200; do
    rm -rf shifted
    "$shift_trace" "$traces/slow/app1" shifted 5000 $ppm
    "$dpm" stats --json "$traces/slow/db1" shifted "$traces/slow/web1" > clocks.json 2> stats.err
    jq -c .trace.clocks clocks.json | sed 's/^/# /'
    check "a clock that is 5000 s ahead and drifts by $ppm ppm: what is said of it is true" jq -e --argjson ppm "$ppm" '
        (.trace.duration_ns * ($ppm | fabs) / 1000000) as $drift | .trace.clocks | length == 3 and
        (.[1:] | all(.error_ns > 0)) and (.[1] | ((.ahead_ns - 5000000000000) | fabs) <= .error_ns + $drift)' clocks.json
    check "... all messages are matched as before" jq -e '.trace.matching |
        .exact == 16 * '$requests' and .unmatched_receives == 0' clocks.json
done

# ---- a slow query ----

start_site web1 app1 db1 0 0.02
repeat record_hosts query
pairs > account
check_account
check "what is said first is true: postgres sleeps in its own call, for nobody" \
    test -n "$(first_finding | grep 'Time .* of the time of .* requests .* postgres processes slept until a timer ended (epoll_wait')"
check_equal "... and the same messages went from program to program" "$(cat hosts.account)" "$(cat account)"
end_site

# ---- the same on one machine ----

start_site app1 app1 app1 0.02 0
slow=$(pid_of_second)
repeat record_one single
pairs > account
check_account
check_equal "... the same as on three: messages and bytes from program to program" "$(cat hosts.account)" "$(cat account)"
check "... with the same cause" \
    test -n "$(first_finding | grep "Time .* of the time of .* requests .*\[$slow\] slept until a timer ended (clock_nanosleep)")"
end_site
finish
