#!/bin/sh
# SPDX-License-Identifier: MIT
# guest.sh BUILD_FOLDER: tests a kernel inside the virtual machine that runs it (matrix.sh). Prints TAP, and leaves
# results for the table of kernels in /run/vm:
#
#   check.json    the output of `dpm check --json`
#   results.json  a line for each trace: {"test": "tcp", "paths": ["tcp"], "lost": 0, "skipped": 0, "equal": true}
#
# Each count of a trace is compared with the metered programs' own counts. If the kernel skipped hooks, and the trace
# reports it, records may be missing: then a difference is no failure, and the table shows it.
. "$(dirname "$0")/../command/tap.sh"
. "$(dirname "$0")/../command/meter.sh"
build=$1
tests=$(realpath "$(dirname "$0")/..")
share=/run/vm
cd "$scratch" || exit 1
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
echo "# seed $seed (DPM_SEED repeats it)"

# bounded SECONDS COMMAND...: the command, with a time limit below that of this machine.
bounded() {
    timeout -k 10 "$@"
}

# begin_trace TEST PATH...: begins a new part, whose trace is TEST.trace and has paths of these kinds.
begin_trace() {
    test_name=$1
    shift
    test_paths=$(printf '"%s"\n' "$@" | jq -sc .)
    test_failed=$tap_failed
    test_differs=no
    lost=null skipped=0
    trace=$test_name.trace
}

# count_lost: counts the records that the trace lacks, and those of them that the kernel's skipped hooks lost.
count_lost() {
    bounded 60 "$dpm" stats --json "$trace" > stats.json 2> stats.err
    skipped=$(jq '.trace.skipped // 0' stats.json)
    lost=$(jq --argjson skipped "${skipped:=0}" '.trace.lost - $skipped' stats.json)
    check_equal "$test_name: no record was lost in the buffer" 0 "$lost"
}

# end_trace: notes the result.
end_trace() {
    equal=true
    [ "$tap_failed" = "$test_failed" ] && [ $test_differs = no ] || equal=false
    echo "{\"test\": \"$test_name\", \"paths\": $test_paths, \"lost\": ${lost:-null}," \
        "\"skipped\": ${skipped:-0}, \"equal\": $equal}" >> "$share/results.json"
    # the data to investigate the failure
    [ "$tap_failed" = "$test_failed" ] || cp -r ./*.json log compared info held "$share" 2> /dev/null
    rm -rf "$trace" ./*.json
}

# same NAME COMMAND...: like check, but the result may differ if hooks were skipped.
same() {
    same_name=$1
    shift
    if [ "$skipped" = 0 ]; then
        check "$test_name: $same_name" "$@"
    elif "$@" > "$scratch/same.output" 2>&1; then
        pass "$test_name: $same_name"
    else
        test_differs=yes
        skip "$test_name: $same_name" "up to $skipped hooks were skipped by the kernel, which the trace reports"
    fi
}

# same_count NAME EXPECTED FOUND: the same for two texts.
same_count() {
    same "$1: $2 expected, $3 found" test "$2" = "$3"
}

# all_exact: each receive in stats.json has an exact match.
all_exact() {
    jq -e ".trace.matching | .exact > 0 and .ordered + .inferred + .unmatched_receives + .unmatched_sends == 0" stats.json
}

# sum FILE FILTER: messages and bytes of the records that the filter selects.
sum() {
    jq -r -s "[.[] | select($2)] | \"\(length) messages, \([.[].bytes] | add // 0) bytes\"" "$1"
}

# ---- the programs of the meter ----

uname -v | sed 's/.*Debian \([0-9.]*\).*/\1/' > "$share/version" # the release of 6.1 does not have it
echo "# $(uname -r), $(cat "$share/version")"
bounded 400 "$dpm" check --json > "$share/check.json" 2> check.err
check "dpm check: the kernel meter works" jq -e .works "$share/check.json"
check_equal "dpm check: no flag is lacking" "" "$(jq -r '.lost_flags | join(" ")' "$share/check.json")"
jq -r '.checks[] | select(.group == "Hooks") | [.state, .name, .detail] | @tsv' "$share/check.json" |
    sed 's/\t/|/g' > hooks
while IFS='|' read -r state name detail; do
    case $state in
    ok) pass "the kernel accepts $name" ;;
    *) fail "the kernel accepts $name" "$state: $detail" ;;
    esac
done < hooks
check "hooks were looked at" test -s hooks
# programs that only options bring: this kernel's verifier accepts them
bounded 150 "$dpm" run --meter kernel -o optional.trace --kinds all,mpi --sensors -- true > out 2> err
check_equal "programs for MPI and sensors are loaded" 0 $?
if ! jq -e .works "$share/check.json" > /dev/null; then
    skip "everything else" "the kernel meter does not run"
    finish
fi

# ---- a program that logs its operations ----

# truth PATH SCENARIO,...: all operations of these scenarios.
truth() {
    begin_trace "$1" "$1"
    rm -rf log
    mkdir log
    bounded 150 "$dpm" run -o "$trace" --wait --ring 64M --flags all -- \
        "$build/tests/truth/truth-program" --seed "$seed" --only "$2" --log log > out 2> err
    check_equal "$1: the truth program ends in order, seed $seed" 0 $?
    count_lost
    bounded 100 "$dpm" dump --json --matched "$trace" > dump.json 2> dump.err
    bounded 100 "$build/tests/truth/truth-compare" --emulated dump.json log > compared 2>&1
    same "its log and the trace are equal, seed $seed" equal
    same "edges of paths without concurrent calls are exact" \
        awk '/edges had to be exact/ { found = $1 >= 50 } END { exit !found }' compared
    end_trace
}

equal() {
    tail -n 1 compared | grep -q '^equal' || {
        grep difference compared | head -n 10
        tail -n 4 compared
        false
    }
}

truth tcp tcp4,tcp6,short-tcp4,short-tcp6,shared-tcp4,life-tcp4,stopped-tcp4,failure-tcp4
truth udp udp4,udp6,failure-udp4,failure-udp6
truth unix stream,seqpacket,datagram,short-stream,shared-stream,life-stream,stopped-stream,failure-stream
truth pipe pipe,fifo

# ---- redis and its client ----

begin_trace redis tcp
cat > redis.sh << 'END'
redis-server --port 7001 --save "" --appendonly no > server.out 2>&1 &
server=$!
tries=100
until redis-cli -p 7001 ping > /dev/null 2>&1; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || exit 1
    sleep 0.2
done
redis-benchmark -p 7001 -n 2000 -c 10 -t set,get -q > bench.out 2>&1
redis-cli -p 7001 info stats | tr -d '\r' > info
kill $server
wait $server
END
bounded 150 "$dpm" run -o "$trace" --wait --ring 64M -- sh redis.sh > out 2> err
check_equal "redis: it ends in order" 0 $?
count_lost
bounded 60 "$dpm" dump --json --process redis-server "$trace" > records.json 2> dump.err
# INFO counts the bytes of its own request, but neither itself nor its reply, which is sent last. redis-benchmark begins
# with a message of two commands.
counted() {
    sed -n "s/^$1://p" info
}
same_count "messages with commands" "$(($(counted total_commands_processed) + 1 - 1))" \
    "$(jq -s '[.[] | select(.event == "RECEIVE" and .bytes > 0 and .kind != "pipe")] | length' records.json)"
same_count "bytes received" "$(counted total_net_input_bytes)" \
    "$(jq -s '[.[] | select(.event == "RECEIVE") | .bytes] | add' records.json)"
same_count "bytes sent" "$(counted total_net_output_bytes)" \
    "$(jq -s '[.[] | select(.event == "SEND") | .bytes] | .[:-1] | add' records.json)"
same_count "connections accepted" "$(counted total_connections_received)" \
    "$(jq -s '[.[] | select(.event == "ACCEPT")] | length' records.json)"
same "each receive was matched exactly" all_exact
end_trace

# ---- a pipeline ----

begin_trace pipeline pipe
bounded 100 "$dpm" run -o "$trace" --wait --ring 64M -- \
    sh -c 'head -c 3000000 /dev/zero | tee zeros | gzip -1 | tee zipped | wc -c > counted' > out 2> err
check_equal "pipeline: it ends in order" 0 $?
count_lost
bounded 60 "$dpm" dump --json --type send,receive "$trace" > records.json 2> dump.err
# moved EVENT NAME: bytes that the program with this name sent or received.
moved() {
    jq -s "[.[] | select(.event == \"$1\" and .name == \"$2\") | .bytes] | add" records.json
}
zipped=$(stat -c %s zipped)
check_equal "pipeline: wc counted what gzip wrote" "$zipped" "$(cat counted)"
same_count "bytes sent by head" 3000000 "$(moved SEND head)"
same_count "bytes received by gzip" 3000000 "$(moved RECEIVE gzip)"
same_count "bytes sent by gzip" "$zipped" "$(moved SEND gzip)"
same_count "bytes received by wc" "$zipped" "$(moved RECEIVE wc)"
same "each receive was matched exactly" all_exact
end_trace

# ---- datagrams ----

begin_trace datagrams udp
cat > datagrams.sh << 'END'
$1 receive 127.0.0.1 7002 0 received.log > received &
while ! grep -q :1B5A /proc/net/udp; do sleep 0.1; done # port 7002
$1 send 127.0.0.1 7002 500 1400 2000 sent.log > sent
wait
END
bounded 100 "$dpm" run -o "$trace" --wait --ring 64M -- sh datagrams.sh "$build/tests/programs/datagrams" > out 2> err
check_equal "datagrams: they end in order" 0 $?
count_lost
bounded 60 "$dpm" dump --json --type send,receive "$trace" > records.json 2> dump.err
same_count "messages sent" "$(awk '{ print $2 " messages, " $4 " bytes" }' sent)" \
    "$(sum records.json '.event == "SEND" and .kind == "udp"')"
same_count "messages received" "$(awk '{ print $2 " messages, " $4 " bytes" }' received)" \
    "$(sum records.json '.event == "RECEIVE" and .kind == "udp"')"
end_trace

# ---- a server that is already running ----

begin_trace acquire acquire
redis-server --port 7003 --unixsocket "$scratch/socket" --save "" --appendonly no > server.out 2>&1 &
server=$!
wait_for 30 redis-cli -p 7003 ping
mkfifo fifo
python3 "$tests/command/redis_hold.py" 7003 "$scratch/socket" < fifo > held &
holder=$!
exec 7> fifo
# tell LINE TEXT TIMES: sends a line to the holder, and waits until it has printed the text this many times.
tell() {
    echo "$1" >&7
    wait_for 60 sh -c "[ \$(grep -c '$2' held) = $3 ]"
}
tell use used 1
timeout 200 redis-benchmark -p 7003 -n 10000000 -c 3 -k 1 -t set -q > load.out 2>&1 &
load=$!
: > err
bounded 200 "$dpm" acquire -o "$trace" --ring 64M $server > out 2>> err &
acquirer=$!
check "acquire: it begins, under load" wait_for 100 grep -q '^dpm: metering 1 process' err
tell info total_net_output_bytes 1
kill $load
tell use used 2
redis-benchmark -p 7003 -n 300 -c 5 -k 0 -t set,get -q > bench.out 2>&1
redis-benchmark -s "$scratch/socket" -n 300 -c 5 -P 8 -t set -q >> bench.out 2>&1
tell info total_net_output_bytes 2
pkill -TERM -P $acquirer
wait $acquirer
check_equal "acquire: it ends in order" 0 $?
check "acquire: the server runs on" kill -0 $server
exec 7>&-
wait $holder
kill $server
wait $server
count_lost
bounded 60 "$dpm" dump --json --type send,receive,accept "$trace" > records.json 2> dump.err
# The server's counts from one INFO to the next are those between the RECEIVEs of the two requests, including the
# second.
asking=$(sed -n 's/^asks on //p' held)
jq --arg asking "$asking" 'select(.event == "RECEIVE" and .remote == $asking and .bytes > 0).sequence' \
    records.json > requests
check_equal "acquire: both requests for INFO are there" 2 "$(wc -l < requests)"
jq -c --argjson first "$(sed -n 1p requests)" --argjson last "$(sed -n 2p requests)" \
    'select(.sequence > $first and .sequence <= $last)' records.json > between.json
# grown COUNTER: its increase from one INFO to the next.
grown() {
    tr -d '\r' < held | sed -n "s/^$1://p" | xargs | awk '{ printf "%d", $2 - $1 }'
}
same_count "bytes received" "$(grown total_net_input_bytes)" \
    "$(jq -s '[.[] | select(.event == "RECEIVE") | .bytes] | add' between.json)"
same_count "bytes sent" "$(grown total_net_output_bytes)" \
    "$(jq -s '[.[] | select(.event == "SEND") | .bytes] | add' between.json)"
same_count "connections accepted" "$(grown total_connections_received)" \
    "$(jq -s '[.[] | select(.event == "ACCEPT")] | length' between.json)"
end_trace
finish
