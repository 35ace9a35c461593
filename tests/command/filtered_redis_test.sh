#!/bin/sh
# SPDX-License-Identifier: MIT
# filtered_redis_test.sh BUILD_FOLDER: a busy redis, metered with the Python example as a custom filter. What the filter counts is what
# `dpm stats` counts, and what redis itself counts, to the byte.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "a real server: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs redis-server redis-benchmark redis-cli jq
filter=$(cd "$(dirname "$0")/../../examples/filters" && pwd)/count_connections.py
cd "$scratch" || exit 1
port=$(free_port)

"$dpm" run -o redis.trace --report report --filter "/usr/bin/python3 '$filter' > filtered.json" -- \
    redis-server --port $port --save "" --appendonly no > out 2> err &
pid=$!
check "redis-server answers under dpm run" wait_for 30 redis-cli -p $port ping
redis-benchmark -p $port -n 20000 -c 20 -t set,get,lrange_100 -q > bench 2>&1
redis-cli -p $port info stats | tr -d '\r' > info
kill -TERM $pid
wait $pid
check_equal "it ends in order" 0 $?
check "the filter missed nothing" grep -q '^dpm: the filter took' report
check_not "... as the report says" grep 'the filter missed' report
check_equal "no packet is missing" 0 "$(jq .missed_packets filtered.json)"
check_equal "it has all records" "$("$dpm" dump --json --type end redis.trace 2> err | jq .records)" "$(jq .records filtered.json)"
check_equal "bytes received are those of INFO" \
    "$(sed -n 's/^total_net_input_bytes://p' info)" "$(jq '[.connections[].bytes_received] | add' filtered.json)"
# INFO counts what was written before its own reply, which was the last one
last=$("$dpm" dump --json --type send redis.trace 2> err | jq -s 'map(select(.event == "SEND")) | last | .bytes')
check_equal "bytes sent are those of INFO" \
    "$(sed -n 's/^total_net_output_bytes://p' info)" "$(($(jq '[.connections[].bytes_sent] | add' filtered.json) - last))"
"$dpm" stats --json redis.trace > stats.json 2> err
check_equal "messages and bytes are those of dpm stats" \
    "$(jq -c '[.processes[] | select(.name == "redis-server") | .sent.messages, .sent.bytes, .received.messages, .received.bytes]' stats.json)" \
    "$(jq -c '[.connections | (map(.sent) | add), (map(.bytes_sent) | add), (map(.received) | add), (map(.bytes_received) | add)]' filtered.json)"
finish
