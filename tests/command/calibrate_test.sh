#!/bin/sh
# SPDX-License-Identifier: MIT
# calibrate_test.sh BUILD_FOLDER: `dpm calibrate`: measurements on this machine and between two hosts, reading its
# output, and invalid peers.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/two_hosts.sh"
dpm=$1/dpm
cd "$scratch" || exit 1

# value FILE LINE BYTES: in us.
value() {
    sed -n "s/^$2 //p" "$1" | tr ',' '\n' | sed -n "s/^ *$3:\(.*\)us\$/\1/p"
}

# less NAME A B: whether A < B.
less() {
    check "$1" awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && b != "" && a + 0 < b + 0) }'
}

# ---- on this machine ----

check 'measures this machine' "$dpm" calibrate --time 20ms -o local.txt
less 'a message takes some time' 0.1 "$(value local.txt 'local ' 1)"
less 'and less than a second' "$(value local.txt 'local ' 1)" 1000000
# Each value is the median of a few milliseconds of measurement, while other processes may use the processors.
for try in 1 2 3 4 5 6 7 8 9 10; do
    awk -v short="$(value local.txt 'local ' 1)" -v long="$(value local.txt 'local ' 100000)" \
        'BEGIN { exit !(short + 0 < long + 0) }' && break
    "$dpm" calibrate --time 20ms -o local.txt > /dev/null 2>&1
done
less "a long one more, in one of $try measurements" "$(value local.txt 'local ' 1)" "$(value local.txt 'local ' 100000)"
check_equal 'six lengths, three kinds' 18 "$(tr ',' '\n' < local.txt | grep -c ':.*us')"
"$1/tests/programs/sample-trace" alpha alpha
check 'what it writes is read' "$dpm" parallelism --delays local.txt --json alpha
"$dpm" calibrate --time 20ms > again.txt
check_equal 'on standard output, too' 1 "$(grep -c '^local  1:' again.txt)"

# ---- costs for views ----

check 'measures costs' "$dpm" calibrate --costs --time 2ms -o local.costs
check_equal 'of messages, probes and comparisons' 'message receive probe evaluate' \
    "$(grep -v -e '^#' -e '^sensor' -e '^switch' local.costs | cut -d ' ' -f 1 | uniq | xargs)"
check_equal 'of sensors, or says why not' 1 "$(grep -c -e '^sensor [0-9.]*us$' -e '^# sensor, switch: not measured: .' local.costs)"
[ "$(id -u)" != 0 ] || ! was_found || check 'of sensors, as the meter runs here' grep -q '^sensor' local.costs
# shellcheck disable=SC2016 # for awk
check 'no cost is 0, and none takes a second' awk '!/^#/ {
    for (i = 2; i <= NF; i++)
        if ($i ~ /^[0-9.]+(us|ns)$/ && $(i - 1) !~ /^(machine|byte)$/ && ($i + 0 <= 0 || $i + 0 > 1e6)) exit 1 }' local.costs
cat > queues.view << 'END'
VIEW DEF Both (size: Q[1].size) ACTIVE WHEN Q[1].size > 24 AND Q[2].size > 24; CORRECT TO WITHIN 25 MS; END VIEW DEF
END
# chosen FILE: how the plan that is chosen collects, and where it evaluates
chosen() {
    "$dpm" view --costs "$1" --json explain queues.view | jq -r '[.groups[0].instances[].collection] | join(",")'
}
cat local.costs - > seldom.costs << 'END'
place Q[1] a
place Q[2] b selectivity 0.0001
END
check_equal 'dpm view reads them: a queue that is seldom over its limit shows when to probe the other one' \
    'probed,traced' "$(chosen seldom.costs)"
{ cat seldom.costs; echo 'probe 30ms'; } > slow.costs
check_equal '... unless a probe takes longer than values may be apart' 'traced,traced' "$(chosen slow.costs)"

# ---- pairs of recorded machines: by names or addresses ----

"$1/tests/programs/sample-trace" beta beta
# as_recorded OPTION...: t_max of step delay with the machines of the traces.
as_recorded() {
    "$dpm" parallelism --json --as-recorded --step delay "$@" alpha beta 2> err |
        jq '.rows[] | select(.assignment == "as-recorded" and .step == "delay").tmax_ns'
}
remote=$(as_recorded --remote-delay 50ms)
less 'messages between the machines count' "$(as_recorded --remote-delay 1us)" "$remote"
printf 'remote 1us\nalpha beta 50ms\nbeta alpha 50ms\n' > pairs.txt
check_equal 'a pair has its own delay' "$remote" "$(as_recorded --delays pairs.txt)"
printf 'remote 1us\nalpha gamma 50ms\ngamma alpha 50ms\n' > pairs.txt
less 'another pair has not' "$(as_recorded --delays pairs.txt)" "$remote"
address() {
    "$dpm" dump --json --type machine "$1" | jq -r '.addresses' | cut -d ' ' -f 1
}
printf 'remote 1us\n%s beta 50ms\nbeta %s 50ms\n' "$(address alpha)" "$(address alpha)" > pairs.txt
check_equal 'an address is a name, too' "$remote" "$(as_recorded --delays pairs.txt)"

# ---- two hosts ----

if [ "$(id -u)" = 0 ]; then
    two_hosts 10.71.7
    leave_hosts() { kill "$listener" 2> /dev/null; }
    ip netns exec "$there" "$dpm" calibrate --listen 10.71.7.2:7007 2> said &
    listener=$!
    wait_for 30 grep -q answering said
    check 'measures another host' \
        ip netns exec "$here" "$dpm" calibrate --time 20ms -o remote.txt 10.71.7.2:7007
    less 'it is reached' 0.1 "$(value remote.txt remote 1)"
    check_equal 'the pair has its own lines, both ways' "$(sed -n 's/^remote //p' remote.txt | sed 'p')" \
        "$(sed -n "s/^$(uname -n) 10.71.7.2 //p; s/^10.71.7.2 $(uname -n) //p" remote.txt)"
    check 'and they are read' "$dpm" parallelism --delays remote.txt --json alpha
    check 'costs, too' ip netns exec "$here" "$dpm" calibrate --costs --time 2ms -o remote.costs 10.71.7.2:7007
    check '... of a message within the subnet' grep -q '^message subnet [0-9.]*us byte [0-9.]*ns$' remote.costs
    check '... which dpm view reads' "$dpm" view --costs remote.costs explain queues.view
    if ip netns exec "$there" tc qdisc add dev cable root netem delay 10ms 2> tc.err; then
        check 'measures a slow network' \
            ip netns exec "$here" "$dpm" calibrate --time 20ms -o slow.txt 10.71.7.2:7007
        less 'half of ten milliseconds there and back' 5000 "$(value slow.txt remote 1)"
        less 'and not a thousand times that' "$(value slow.txt remote 1)" 5000000
    else
        skip 'measures a slow network' "no netem: $(cat tc.err)"
    fi
    # invalid peers: noise, and one that sends nothing and disconnects
    ip netns exec "$here" sh -c 'head -c 1000 /dev/urandom | timeout 5 nc -N 10.71.7.2 7007' > noise 2>&1
    ip netns exec "$here" sh -c ': | timeout 5 nc -N 10.71.7.2 7007' > noise 2>&1
    check 'answers on after noise' \
        ip netns exec "$here" "$dpm" calibrate --time 20ms -o after.txt 10.71.7.2:7007
    kill "$listener"
    wait "$listener"
    check_equal 'ends when interrupted' 0 $?
else
    skip 'measures another host' 'it takes root'
fi

# ---- a slow peer, or a silent one ----

# listens: starts the other side on this machine ($listener), at its own port ($port), with its messages in the file
# said
listens() {
    port=$(free_port)
    : > said
    "$dpm" calibrate --listen "127.0.0.1:$port" 2>> said &
    listener=$!
    wait_for 30 grep -q answering said
}

# ends_at_once NAME: whether it ends within 10 s after an interrupt, and so before its peer does
ends_at_once() {
    kill "$listener"
    begun=$(date +%s)
    wait "$listener"
    check_equal "$1" "0 yes" "$? $([ $(($(date +%s) - begun)) -le 10 ] && echo yes)"
}

# slow_peer BYTES: sends this many bytes, one a second, and then waits to be closed, at most 20 s ($slow)
slow_peer() {
    python3 - "$port" "$1" > slow.out 2>&1 << 'END' &
import socket, sys, time
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for _ in range(int(sys.argv[2])):
    peer.send(b"D")
    time.sleep(1)
peer.settimeout(20)
peer.recv(1)
END
    slow=$!
}

listens
slow_peer 60
check 'a peer that takes its time with a header is dropped' \
    wait_for 60 grep -qx 'dpm: dropped a peer: Connection timed out' said
check 'and the next is answered' "$dpm" calibrate --time 1ms -o next.txt "127.0.0.1:$port"
kill -STOP "$listener"
"$dpm" calibrate --time 1ms "127.0.0.1:$port" > busy.out 2> busy.err
check_equal 'a missing answer is reported' \
    "dpm: 127.0.0.1:$port: no answer within 5 s: is it busy with another peer?" "$(cat busy.err)"
kill -CONT "$listener"
wait "$slow"
ends_at_once 'ends at once when interrupted, after all that'
listens
slow_peer 0
wait_for 30 sh -c "ss -Htn state established dst 127.0.0.1:$port | grep -q ."
ends_at_once 'and with a silent peer, too'
wait "$slow"

port=$(free_port)
: > full.err
prlimit --nofile=4 timeout 60 "$dpm" calibrate --listen "127.0.0.1:$port" 2>> full.err &
listener=$!
wait_for 30 grep -q answering full.err
slow_peer 0
wait "$slow"
wait "$listener"
check_equal 'who has no descriptor left to answer with gives up' 1 $?
check_equal 'and says so' "dpm: --listen 127.0.0.1:$port: cannot answer any more: Too many open files" \
    "$(tail -n 1 full.err)"

# ---- errors ----

fails() {
    fails_name=$1 fails_status=$2 fails_pattern=$3
    shift 3
    "$@" > fails.out 2> fails.err
    check_equal "$fails_name: exit status" "$fails_status" "$?"
    check_equal "$fails_name: one line" "1 0" "$(wc -l < fails.err) $(wc -c < fails.out)"
    check "$fails_name: says why" grep -q "$fails_pattern" fails.err
}

fails 'no listener' 1 'does .dpm calibrate --listen' "$dpm" calibrate --time 1ms 127.0.0.1:1
fails 'no port' 2 'give HOST:PORT' "$dpm" calibrate --time 1ms localhost
fails 'no such port' 2 'no such port' "$dpm" calibrate --time 1ms 127.0.0.1:99999
fails 'no such port to listen at' 2 'no such port' "$dpm" calibrate --listen 65536
# All names are checked first: no program listens at the first machine, but that is not the reported error.
long=$(printf 'a%.0s' $(seq 64))
fails 'one of them no name' 2 'not a host name' "$dpm" calibrate --time 1ms 127.0.0.1:1 "$long:7007"
fails 'one of them no port' 2 'give HOST:PORT' "$dpm" calibrate --time 1ms 127.0.0.1:1 localhost
fails 'one of them unknown' 1 '^dpm: no-host.invalid:7007: ' "$dpm" calibrate --time 1ms 127.0.0.1:1 no-host.invalid:7007
if [ "$(id -u)" = 0 ]; then
    fails 'this machine has no name' 1 'this machine has no host name' \
        unshare -u sh -c "echo > /proc/sys/kernel/hostname && exec '$dpm' calibrate --time 1ms 127.0.0.1:1"
fi
fails 'no time' 2 'give a time' "$dpm" calibrate --time soon
fails 'too much time' 2 'give a time up to 1m' "$dpm" calibrate --time 61s
fails 'a time for who listens' 2 '[-]-listen takes no other option' "$dpm" calibrate --listen 7007 --time 1s
fails 'no file' 1 'cannot be written' "$dpm" calibrate --time 1ms -o /nowhere/file
fails 'no port to listen on' 2 'foo: no such port' "$dpm" calibrate --listen foo
fails 'nor to ask' 2 '127.0.0.1:foo: no such port' "$dpm" calibrate --time 1ms 127.0.0.1:foo
fails 'two at once' 2 'takes no other option' "$dpm" calibrate --listen 7007 -o file

finish
