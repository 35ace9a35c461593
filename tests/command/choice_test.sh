#!/bin/sh
# SPDX-License-Identifier: MIT
# choice_test.sh BUILD_FOLDER: which of two real programs `dpm acquire` chooses, redis in a cgroup like a container's
# and iperf3 in one like a service's: by --cgroup, by --unit, and by --all, with separate figures for each.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs redis-server iperf3
cd "$scratch" || exit 1
port=$(free_port)
iperf_port=$(free_port)
cgroup_mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$cgroup_mount" ] || skip_all "no cgroup2 is mounted"
here=$cgroup_mount/dpm-choice-$$
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
container=$here/docker-$id.scope
unit=dpm-choice1.2-$$.service
redis=
iperf=
clean() {
    for pid in $redis $iperf; do
        kill $pid 2> kill.err
    done
    wait
    rmdir "$container/inner" "$container" "$here/$unit" "$here" 2> rmdir.err
    rm -rf "$scratch"
}
trap clean EXIT
mkdir "$here" "$container" "$container/inner" "$here/$unit" 2> err ||
    skip_all "cannot make a cgroup: $(cat err)"

# The container's process is in a cgroup below it.
sh -c "echo 0 > '$container/inner/cgroup.procs' &&
    exec redis-server --port $port --save '' --appendonly no" > out 2>&1 &
redis=$!
sh -c "echo 0 > '$here/$unit/cgroup.procs' && exec iperf3 -s -p $iperf_port" > out.iperf 2>&1 &
iperf=$!
check "redis answers" wait_for 30 redis-cli -p $port ping
check "iperf3 listens" wait_for 30 sh -c "[ -n \"\$(ss -Hlnt 'sport = :$iperf_port')\" ]"

# recorded WHAT OPTION...: loads both programs and records the chosen ones; afterwards redis-cli and iperf3 have written
# their own counts.
recorded() {
    trace=$1.trace
    shift
    rm -rf "$trace"
    take_over -o "$trace" --kinds tcp --ring 64M "$@"
    redis-cli -p $port info stats > before
    timeout 60 iperf3 -c 127.0.0.1 -p $iperf_port -P 2 -n 8M -b 200M -J > client.json &
    client=$!
    redis-benchmark -p $port -n 2000 -c 5 -t set,get -q > bench 2>&1
    wait $client
    redis-cli -p $port info stats > after
    wait_for 30 servers_closed
    let_go
    "$dpm" dump --json "$trace" > records.json 2> dump.err
}
# servers_closed: both servers have closed their connections
servers_closed() {
    [ -z "$(ss -Hnt state established state close-wait "( sport = :$port or sport = :$iperf_port )")" ]
}
metered_pids() {
    jq -r 'select(.event == "STREAM").pid' records.json | sort -un | xargs
}

# redis_agrees: the bytes received are those of INFO. Only the last INFO's own reply follows it; the first INFO came
# earlier, on a separate connection.
redis_agrees() {
    grown=$(tr -d '\r' < after | sed -n 's/^total_net_input_bytes://p')
    was=$(tr -d '\r' < before | sed -n 's/^total_net_input_bytes://p')
    asked=$(jq -s "[.[] | select(.event == \"RECEIVE\" and .pid == $redis)] | .[0].bytes" records.json)
    check_equal "$1: redis has received what it says" $((grown - was + asked)) \
        "$(jq -s "[.[] | select(.event == \"RECEIVE\" and .pid == $redis).bytes] | add" records.json)"
    grown=$(tr -d '\r' < after | sed -n 's/^total_net_output_bytes://p')
    was=$(tr -d '\r' < before | sed -n 's/^total_net_output_bytes://p')
    check_equal "$1: and sent" $((grown - was)) \
        "$(jq -s "[.[] | select(.event == \"SEND\" and .pid == $redis).bytes] | .[:-1] | add" records.json)"
}

# Each stream begins with a cookie of 37 bytes.
iperf_agrees() {
    check_equal "$1: iperf3 has measured" 2 "$(jq '.end.streams | length' client.json)"
    check_equal "$1: iperf3 has received on each stream what it says" \
        "$(jq -r '[.end.streams[].receiver.bytes + 37] | sort | map(tostring) | join(" ")' client.json)" \
        "$(jq -r -s --slurpfile client client.json "
            [\$client[0].start.connected[].local_port | tostring | \"127.0.0.1:\" + .] as \$streams |
            map(select(.event == \"RECEIVE\" and .pid == $iperf and (.remote | IN(\$streams[])))) |
            group_by(.remote) | map(map(.bytes) | add) | sort | map(tostring) | join(\" \")" records.json)"
}

repeat recorded cgroup --cgroup "${container#"$cgroup_mount"}"
check_equal "--cgroup meters what is in a cgroup below it, and nothing else" "$redis" "$(metered_pids)"
redis_agrees "--cgroup"
check_equal "... and the report names the container" "0123456789ab" \
    "$("$dpm" stats --json cgroup.trace | jq -r '.processes[0].container')"

repeat recorded unit --unit $unit
check_equal "--unit meters the unit, and nothing else" "$iperf" "$(metered_pids)"
iperf_agrees "--unit"

long_ones || finish
repeat recorded both --unit ${unit%.service} --cgroup "$container"
check_equal "both together, the cgroup by its folder" "dpm: metering 2 processes since TIME" "$(first_line err | sed 's/: [^:]*$//')"
check "... which are named" grep -q "^dpm: metering.*: .*\[$iperf\]" err
redis_agrees "both"
iperf_agrees "both"

# Another name of a unit is a link to the unit, possibly through one more link. An earlier folder takes precedence.
under_names() {
    unshare -m sh -c "
        mount -t tmpfs none /usr/local/lib && mkdir -p /usr/local/lib/systemd/system &&
        mount -t tmpfs none /run && mkdir -p /run/systemd/system &&
        ln -s ../$unit /usr/local/lib/systemd/system/other-$unit &&
        ln -s other-$unit /run/systemd/system/third-$unit &&
        ln -s ring-$unit /run/systemd/system/round-$unit &&
        ln -s round-$unit /run/systemd/system/ring-$unit &&
        ln -s ../$unit /usr/local/lib/systemd/system/overridden-$unit &&
        echo > /run/systemd/system/overridden-$unit &&
        exec timeout 60 '$dpm' acquire -o alias.trace --duration 100ms --unit $1" 2>&1 | first_line
    rm -rf alias.trace
}
check_equal "--unit follows an alias" "dpm: metering 1 process since TIME: iperf3[$iperf]" "$(under_names "other-$unit")"
check_equal "... its type need not be named" "dpm: metering 1 process since TIME: iperf3[$iperf]" "$(under_names "other-${unit%.service}")"
check_equal "... an alias of an alias" "dpm: metering 1 process since TIME: iperf3[$iperf]" "$(under_names "third-$unit")"
check_equal "... not in circles" 1 "$(under_names "ring-$unit" | grep -c "^dpm: no process belongs to the unit r[a-z]*-$unit$")"
check_equal "... a unit of this name in an earlier folder is none" "dpm: no process belongs to the unit overridden-$unit" \
    "$(under_names "overridden-$unit")"

repeat recorded all --all
check_equal "--all loses nothing" "" "$(grep lost dump.err)"
redis_agrees "--all"
iperf_agrees "--all"
check_equal "--all: the client says the same of what it has sent" \
    "$(jq -r '[.end.streams[].sender.bytes + 37] | add' client.json)" \
    "$(jq -r -s --slurpfile client client.json '
        [$client[0].start.connected[].local_port | tostring | "127.0.0.1:" + .] as $streams |
        map(select(.event == "SEND" and (.local | IN($streams[]))).bytes) | add' records.json)"
check_equal "a cgroup that does not exist is a plain error" "dpm: no process is in the cgroup /dpm-no-such-cgroup" \
    "$("$dpm" acquire --cgroup /dpm-no-such-cgroup -o none.trace 2>&1)"
finish
