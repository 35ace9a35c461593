#!/bin/sh
# SPDX-License-Identifier: MIT
# redis_test.sh BUILD_FOLDER: a real server with real load; its own counters must agree with the trace to the byte,
# whether the recording began before it or in the middle.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
command -v redis-server > /dev/null || skip_all "redis-server is not installed"
tests=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
port=$(free_port)

"$dpm" run -o redis.trace -- redis-server --port $port --save "" --appendonly no > out 2> err &
pid=$!
check "redis-server answers under dpm run" wait_for 30 redis-cli -p $port ping
redis-benchmark -p $port -n 1500 -c 20 -t set,get,lpush,lrange_100 -q > bench 2>&1
redis-benchmark -p $port -n 4000 -c 5 -P 16 -t set,get -q >> bench 2>&1
redis-cli -p $port info stats | tr -d '\r' > info
kill -TERM $pid
wait $pid
check_equal "it ends in order" 0 $?

"$dpm" dump --json --process redis-server redis.trace > records.json 2> dump.err
check_equal "no record is lost" "" "$(grep lost dump.err)"
# INFO counts what was read, including its own request, and what was written before its reply, which the server sent
# last.
# count: its figures from the records; without the last SEND
count='reduce inputs as $one ({};
    if $one.event == "RECEIVE" then .received += $one.bytes
    elif $one.event == "SEND" then .sent += $one.bytes | .last = $one.bytes
    elif $one.event == "ACCEPT" then .accepted += 1 else . end)'
jq -n -r "$count"' | "\(.received) \(.sent - .last) \(.accepted)"' records.json > counted
read -r received sent accepted < counted
check_equal "bytes received are those of INFO" "$(sed -n 's/^total_net_input_bytes://p' info)" "$received"
check_equal "bytes sent are those of INFO" "$(sed -n 's/^total_net_output_bytes://p' info)" "$sent"
check_equal "connections accepted are those of INFO" "$(sed -n 's/^total_connections_received://p' info)" "$accepted"

# ---- acquired in the middle ----

only_kernel "a server acquired in the middle" "it acquires no process" || finish

redis-server --port $port --unixsocket "$scratch/socket" --save "" --appendonly no > out 2>&1 &
pid=$!
wait_for 30 redis-cli -p $port ping
mkfifo fifo
/usr/bin/python3 "$tests/redis_hold.py" $port "$scratch/socket" < fifo > held &
holder=$!
exec 7> fifo

# tell LINE TEXT TIMES: sends a line to the holder, and waits until it has printed the text this many times.
tell() {
    echo "$1" >&7
    wait_for 120 sh -c "[ \$(grep -c '$2' held) = $3 ]"
}

tell use used 1
# load before, during and for a moment after the acquisition of the server
timeout 60 redis-benchmark -p $port -n 10000000 -c 10 -k 1 -t set -q > old-tcp 2>&1 &
old_tcp=$!
timeout 60 redis-benchmark -s "$scratch/socket" -n 10000000 -c 10 -k 1 -t get -q > old-unix 2>&1 &
old_unix=$!
check "it is taken over under load" take_over -o middle.trace --ring 64M $pid
check "... it alone" grep -q '^dpm: metering 1 process since [0-9:.]*$' err
tell info total_net_output_bytes 1
kill $old_tcp $old_unix
tell use used 2
redis-benchmark -p $port -n 2000 -c 10 -k 0 -t set,get -q > bench 2>&1
redis-benchmark -s "$scratch/socket" -n 5000 -c 10 -P 16 -t set,lrange_100 -q >> bench 2>&1
tell info total_net_output_bytes 2
let_go
check_equal "... and released cleanly" 0 $?
check "... it runs on" kill -0 $pid
exec 7>&-
wait $holder
kill -TERM $pid
wait $pid

"$dpm" dump --json --type send,receive,accept middle.trace 2> dump.err > records.json
check_equal "no record is lost" "" "$(grep lost dump.err)"
# The server's counts from one INFO to the next are those between the RECEIVEs of the two requests, including the
# second.
asking=$(sed -n 's/^asks on //p' held)
# In each direction: how many messages do not follow directly after the previous one on the same path.
jq -n -r --arg asking "$asking" '
    [inputs] as $records |
    [$records[] | select(.event == "RECEIVE" and .remote == $asking).sequence] as $requests |
    def follows($way): reduce ($records[] | select(.event == $way)) as $record ({ends: {}, holes: 0};
        ($record.path | tostring) as $path |
        if .ends[$path] != null and .ends[$path] != $record.offset then .holes += 1 else . end |
        .ends[$path] = ($record.offset + $record.bytes) % 4294967296) | .holes;
    [$records[] | select(.sequence > $requests[0] and .sequence <= $requests[1])] as $between |
    "\($requests | length) \([$between[] | select(.event == "RECEIVE").bytes] | add) \(
        [$between[] | select(.event == "SEND").bytes] | add) \([$between[] | select(.event == "ACCEPT")] | length) \(
        follows("SEND")) \(follows("RECEIVE")) \([$records[].path] | unique | length)"' records.json > counted
read -r requests received sent accepted send_holes receive_holes paths < counted
check_equal "both requests for INFO are there" 2 "$requests"
# grown COUNTER: its increase from one INFO to the next.
grown() {
    tr -d '\r' < held | sed -n "s/^$1://p" | xargs | awk '{ printf "%d", $2 - $1 }'
}
check_equal "bytes received from one INFO to another" "$(grown total_net_input_bytes)" "$received"
check_equal "bytes sent" "$(grown total_net_output_bytes)" "$sent"
check_equal "connections accepted" "$(grown total_connections_received)" "$accepted"
check_equal "each SEND begins where the last one on its path ended" 0 "$send_holes"
check_equal "each RECEIVE begins where the last one on its path ended" 0 "$receive_holes"
check "... on paths older than the recording, TCP and UNIX" test 82 -le "$paths"
finish
