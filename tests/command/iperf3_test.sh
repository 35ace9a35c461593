#!/bin/sh
# SPDX-License-Identifier: MIT
# iperf3_test.sh BUILD_FOLDER: a real program that fills its connections: iperf3's own counts for each of them agree
# with the trace, to the byte (iperf3_account.py), whether the recording began before it, between its two ends, or in
# the middle.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
command -v iperf3 > /dev/null || skip_all "iperf3 is not installed"
tests=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
port=$(free_port)

# serve FOLDER, fill FOLDER OPTION...: the two ends of iperf3, which leave their figures in FOLDER.
serve() {
    exec timeout 60 iperf3 -s -1 -p $port -J --debug --logfile "$1/server.json" > "$1/server.out" 2>&1
}
fill() {
    fill_folder=$1
    shift
    exec timeout 60 iperf3 -c "$@" -p $port -J --debug --logfile "$fill_folder/client.json" \
        > "$fill_folder/client.out" 2>&1
}
listening() {
    [ -n "$(ss -Hlnt "sport = :$port")" ]
}

# records TRACE...: their records, and the number of lost ones.
records() {
    : > dump.err
    for trace in "$@"; do
        "$dpm" dump --json "$trace" 2>> dump.err
        ! grep lost dump.err
    done > records.json
}

# figures OF: the bytes in each direction of each connection, from `dpm stats` or from the records.
figures_of_stats() {
    "$dpm" stats --each-connection --json "$1" | jq -r '.paths[] | select(.kind == "tcp") |
        "\(.local) > \(.remote) \(.sent.bytes)", "\(.remote) > \(.local) \(.received.bytes)"' | sort
}
figures_of_records() {
    jq -r -s 'map(select(.kind == "tcp" and .role != 5 and (.event == "SEND" or .event == "PATH"))) |
        group_by([.local, .remote])[] |
        "\(.[0].local) > \(.[0].remote) \(map(select(.event == "SEND").bytes) | add // 0)"' \
        records.json | sort
}

# agree WHAT CONNECTIONS ROWS PART FOLDER: its records agree with iperf3.
agree() {
    check_equal "$1" "$2 connections, $3 rows, $4" "$(python3 "$tests/iperf3_account.py" "$5" records.json)"
}

# ---- both ends from the beginning ----

# record_both OPTION...: both ends.
record_both() {
    rm -rf whole both.trace
    mkdir whole
    cat > both.sh << SCRIPT
iperf3 -s -1 -p $port -J --debug --logfile whole/server.json > whole/server.out &
tries=0
until [ -n "\$(ss -Hlnt 'sport = :$port')" ] || [ \$tries = 100 ]; do
    tries=\$((tries + 1))
    sleep 0.05
done
iperf3 -c $* -p $port -J --debug --logfile whole/client.json > whole/client.out
wait
SCRIPT
    timeout 60 "$dpm" run --kinds tcp --ring 64M --wait -o both.trace -- sh both.sh > out 2> err
    status=$?
    records both.trace
}

# whole WHAT CONNECTIONS OPTION...
whole() {
    what=$1
    connections=$2
    shift 2
    repeat record_both "$@"
    check_equal "$what: it ends in order" 0 $status
    agree "... every byte on every connection" "$connections" $((connections * 4)) all whole
    check_equal "... and in the statistics" "$(figures_of_records)" "$(figures_of_stats both.trace)"
}
whole "four streams" 5 127.0.0.1 -P 4 -n 16M -b 200M
whole "over IPv6, from the server" 5 ::1 -P 4 -n 16M -b 200M --reverse
whole "both directions, in small messages" 5 127.0.0.1 -P 2 -l 700 -n 2M --bidir
whole "as fast as it goes" 5 127.0.0.1 -P 4 -n 200M
sed '0,/"event":"SEND"/{/"event":"SEND"/d}' records.json > fewer.json
check_not "... and one record less is noticed" sh -c "
    python3 '$tests/iperf3_account.py' whole fewer.json | grep -q -x '5 connections, 20 rows, all' &&
    [ \$(python3 '$tests/iperf3_account.py' whole fewer.json | wc -l) = 1 ]"
whole "through sendfile" 5 ::1 -P 4 -n 16M -b 200M --zerocopy

# ---- the server is acquired before its client begins, which has a separate recording ----

mkdir apart
(serve apart) &
server=$!
wait_for 30 listening
timeout 60 "$dpm" acquire -o server.trace "$(pgrep -P $server)" > out 2> acquire.err &
acquirer=$!
wait_for 30 grep -q '^dpm: metering 1 process since ' acquire.err
timeout 60 "$dpm" run -o client.trace -- iperf3 -c 127.0.0.1 -p $port -P 4 -n 16M -b 200M --bidir \
    -J --debug --logfile apart/client.json > apart/client.out 2> err
wait $server
wait $acquirer
check_equal "a server taken over before its client begins: it ends with it" 0 $?
records server.trace client.trace
agree "... both ends, each in its own trace" 9 36 all apart

# ---- both are acquired in the middle ----

# take_both SECONDS OPTION...: acquires both ends after they have begun; false if they ended first.
take_both() {
    seconds=$1
    shift
    rm -rf middle middle.trace beginnings
    mkdir middle
    python3 "$tests/beginnings.py" $port > beginnings &
    watcher=$!
    wait_for 30 grep -q ready beginnings
    (serve middle) &
    server=$!
    wait_for 30 listening
    (fill middle 127.0.0.1 -t "$seconds" "$@") &
    client=$!
    sleep 0.3
    # timeout has a child, iperf3
    timeout 60 "$dpm" acquire --ring 64M -o middle.trace "$(pgrep -P $server)" "$(pgrep -P $client)" > out 2> acquire.err
    acquired=$?
    wait $server
    wait $client
    kill $watcher
    sed 1d beginnings > middle/beginnings
    grep -q '^dpm: metering 2 processes since ' acquire.err
}

# record_middle OPTION...: a busy machine may need longer to load the meter.
record_middle() {
    take_both 3 "$@" || take_both 12 "$@"
    records middle.trace
}

# middle WHAT CONNECTIONS OPTION...
middle() {
    what=$1
    connections=$2
    shift 2
    repeat record_middle "$@"
    check_equal "$what, taken over in the middle: it ends with them" 0 $acquired
    agree "... every connection, contiguous to its end" "$connections" $((connections * 4)) "their ends" middle
}
middle "both directions" 9 -P 4 -b 20M --bidir
middle "streams that are fast" 3 -P 2 -b 1G # less than 2 GiB in 12 s: positions wrap around
finish
