#!/bin/sh
# SPDX-License-Identifier: MIT
# redis_test.sh BUILD_FOLDER: a real server with real load; its own counters must agree to the byte.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
command -v redis-server > /dev/null || skip_all "redis-server is not installed"
cd "$scratch" || exit 1
port=$((20000 + $$ % 20000))

"$dpm" run -o redis.trace -- redis-server --port $port --save "" --appendonly no > out 2> err &
pid=$!
check "redis-server answers under dpm run" wait_for 10 redis-cli -p $port ping
redis-benchmark -p $port -n 20000 -c 20 -t set,get,lpush,lrange_100 -q > bench 2>&1
redis-benchmark -p $port -n 20000 -c 5 -P 16 -t set,get -q >> bench 2>&1
redis-cli -p $port info stats | tr -d '\r' > info
kill -TERM $pid
wait $pid
check_equal "it ends in order" 0 $?

"$dpm" dump --json --process redis-server redis.trace > records.json 2> dump.err
check_equal "no record is lost" "" "$(grep lost dump.err)"
# INFO counts what was read, its own request included, and what was written before its reply, which
# is the last thing the server sent.
check_equal "bytes received are those of INFO" \
    "$(sed -n 's/^total_net_input_bytes://p' info)" \
    "$(jq -s '[.[] | select(.event == "RECEIVE") | .bytes] | add' records.json)"
check_equal "bytes sent are those of INFO" \
    "$(sed -n 's/^total_net_output_bytes://p' info)" \
    "$(jq -s '[.[] | select(.event == "SEND") | .bytes] | .[:-1] | add' records.json)"
check_equal "connections accepted are those of INFO" \
    "$(sed -n 's/^total_connections_received://p' info)" \
    "$(jq -s '[.[] | select(.event == "ACCEPT")] | length' records.json)"
finish
