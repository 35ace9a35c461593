#!/bin/sh
# SPDX-License-Identifier: MIT
# view_load_test.sh BUILD_FOLDER: `dpm view load` shows all machines and subnets, of a hundred simulated agents.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
agents=$(realpath "$(dirname "$0")/../programs/many_agents.py")
. "$(dirname "$0")/sample.sh" # which leaves this folder
need_programs nats-server jq python3
cd "$scratch" || exit 1
server='' load=''
# shellcheck disable=SC2086 # one word for each
trap 'kill $server $load 2> kill.err; rm -rf "$scratch"' EXIT
port=$(free_port)
printf 'host: 127.0.0.1\nport: %s\njetstream { store_dir: "%s/store" }\n' "$port" "$scratch" > nats.conf
nats-server -c nats.conf > nats.out 2>&1 &
server=$!
answers() {
    python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2> answers.err
}
wait_for 30 answers
"$dpm" view --fabric "nats://127.0.0.1:$port" --every 100ms --json load > lines 2> err &
load=$!
wait_for 30 test -s lines # so it has made the streams
python3 "$agents" "$port" 100 3
# complete: the last round of all machines is shown, in the lines that have come so far
complete() {
    cp lines seen
    tail -n 1 seen | jq -e '.machines | length == 100 and all(.processes == 4)'
}
wait_for 30 complete
tail -n 1 seen > last
check_equal "a row for each machine" 100 "$(jq '.machines | length' last)"
check_equal "... with its job load, CPU and traffic, without its peers elsewhere" 99 \
    "$(jq '[.machines[] | (.machine[1:] | tonumber) as $n |
        select(.job_load == $n and .cpu == 1.5 and .sent_bytes_per_s == 1000 * $n and .received_bytes_per_s == 200)] | length' last)"
check_equal "... and without what is not recorded" '["m000",null,null,null]' \
    "$(jq -c '.machines[] | select(has("job_load") or has("cpu") or has("processors") | not) | [.machine, .job_load, .cpu, .processors]' last)"
# 0 + 4 + ... + 96 = 1200; each next subnet has 25 more
check_equal "each subnet has the traffic of its machines" \
    '10.0.0.0/24 25 1200000 5000,10.0.1.0/24 25 1225000 5000,10.0.2.0/24 25 1250000 5000,10.0.3.0/24 25 1275000 5000' \
    "$(jq -r '[.subnets[] | "\(.subnet) \(.machines) \(.sent_bytes_per_s | round) \(.received_bytes_per_s | round)"] | join(",")' last)"
check_equal "... and is as old as the oldest of these figures" true "$(jq '[.subnets[].age_s] ==
    [range(4) as $n | [.machines[] | select((.machine[1:] | tonumber) % 4 == $n) | .age_s] | max]' last)"
check_equal "one message for each machine and interval comes here, no more" 300 "$(jq -s 'map(.summaries) | add' seen)"
kill -INT $load
wait $load
check_equal "a signal ends it" 0 $?
for time in 500ms 5s 30s; do # until all of it has come
    runs "as text, $time" "$dpm" view --fabric "nats://127.0.0.1:$port" --every 1h --for $time load
    ! grep -q '; 300 summaries came' out || break
done
check "... with all rows" test "$(grep -c '^m0' out)" = 100
check "... and - for what is not recorded" grep -q '^m000  *-  *-  ' out
check "... and subnets" grep -q '^10.0.1.0/24  *25  *1225000  *5000  *[0-9][0-9]*\.[0-9]$' out
check "... and what came" grep -q '^100 machines, 4 subnets; 300 summaries came' out
fails "no server" 2 'view: load: give --fabric URL' "$dpm" view load
fails "a server that does not answer" 1 '.*' "$dpm" view --fabric nats://127.0.0.1:1 load
finish
