#!/bin/sh
# SPDX-License-Identifier: MIT
# faults_test.sh BUILD_FOLDER: two hosts are metered, each with 25,000 messages a second, while one part after the other is
# killed, the link is down for three windows of de-duplication, and disks are full. What the programs have sent is in the
# traces, once, but for what is announced as lost; nothing is left stopped or attached, and all traces can be read.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip ssh jq nats-server unshare setpriv
hosts=$(realpath "$(dirname "$0")/../../scripts/hosts")
steady=$(realpath "$1/tests/programs/steady")
dir=$scratch/hosts

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    umount -q "$scratch/small" "$scratch/home/.local/state"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" one two > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
export HOME="$scratch/home" DPM_TEST_WINDOW_MS=2000 XDG_STATE_HOME=
mkdir -p "$HOME/.local/state" small
sessions=$HOME/.local/state/dpm/$(hostname)/sessions
rate=25000

in_host() {
    "$hosts" run "$dir" "$@"
}

# begin NAME SECONDS OPTION...: steady on both hosts, metered, in the background. The last --host is the one that suffers.
begin() {
    name=$1
    seconds=$2
    shift 2
    : > err
    timeout 200 "$dpm" run --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" --session "$(basename "$name")" -o "$scratch/$name" \
        --kinds unix --ring 64M "$@" --host two:"$steady $rate $seconds" --host one:"$steady $rate $seconds" \
        > out 2> err < /dev/null &
    run=$!
    wait_for 60 flows
}

# flows: whether records of both have come here
flows() {
    [ "$(find "$name/one/data" -size +200k | wc -l)" = 1 ] && [ "$(find "$name/two/data" -size +200k | wc -l)" = 1 ]
}

# sent HOST, recorded HOST, lost HOST: messages of steady, as it says itself; SENDs in its trace; what is said to be missing.
sent() {
    sed -n "s/^$1: sent //p" out
}
recorded() {
    "$dpm" stats --json "$name/$1" 2> "stats.$1" | jq '[.processes[] | select(.program == "steady").sent.messages] | add // 0'
}
lost() {
    "$dpm" stats --json "$name/$1" 2> "stats.$1" | jq '.trace.lost'
}

# check_all HOST: everything that was sent is there, once, or is said to be lost.
check_all() {
    own=$(sent "$1")
    found=$(recorded "$1")
    missing=$(lost "$1")
    check "$name: $1: $found SENDs of $own are recorded, once, and $missing records are said to be lost" \
        test "$found" -le "$own" -a "$found" -gt 0 -a $((found + missing)) -ge "$own"
}

# check_part HOST: what was recorded until it was cut can be read, and was sent.
check_part() {
    found=$(recorded "$1")
    check "$name: $1: what was recorded until then can be read: $found SENDs" \
        test "$found" -gt 0 -a "$found" -le $((rate * (seconds + 1)))
}

# shellcheck disable=SC2317 # called by wait_for
nothing_left() {
    for each in one two; do
        ! in_host $each pgrep -x dpm-agent && ! in_host $each pgrep -x steady || return 1
    done
}
check_end() {
    wait $run
    status=$?
    check_equal "$name: the exit status" "$1" "$status"
    check "... nothing is left: no agent, no process stopped or attached" wait_for 100 nothing_left
}

# ---- parts that are killed ----

begin nothing 4
check_end 0
check_all one
check_all two

begin connection 8
kill -9 "$(pgrep -f "^ssh -F $dir/ssh_config .* one $dpm agent")"
check_end 0
check_all one
check_all two

begin server 8
kill -9 "$(pgrep -f "nats-server .*$sessions/server")"
check_end 0
check_all one
check_all two

begin filter 8
"$dpm" filter --from filter -o other > filter.out 2>&1 &
filter=$!
wait_for 30 test -s other/one/data
kill -9 $filter
"$dpm" filter --from filter -o other > filter.out 2>&1 &
filter=$!
check_end 0
wait $filter
check_equal "a filter that was killed goes on, and ends in order" 0 $?
for each in one two; do
    check_all $each
    check "... and has the same of $each" cmp "filter/$each/data" "other/$each/data"
done

begin agent 8
in_host one pkill -9 -x dpm-agent
check_end 255 # as man dpm-run says
check "... and the host is named" grep -q 'one was cut' err
check_part one
check_all two

begin controller 8
kill -9 "$(pgrep -P $run dpm)"
wait $run
check "controller: killed: its agents end by themselves" wait_for 100 nothing_left
check_part one
check_part two

# ---- the link ----

begin link 12
"$hosts" unplug "$dir" one
sleep 6
"$hosts" plug "$dir" one
check_end 0
check_all one
check_all two

# ---- full disks ----

in_host one mkdir -p "$dir/hosts/one/home/root/.local/state"
in_host one mount -t tmpfs -o size=3M tmpfs "$dir/hosts/one/home/root/.local/state"
begin spool 6
wait $run
check "spool: a full disk of the agent is reported" grep -qi 'one: .*\(no space\|full\)' err
check "... nothing is left" wait_for 100 nothing_left
check_part one
check_all two
in_host one umount -l "$dir/hosts/one/home/root/.local/state"

mount -t tmpfs -o size=100M,mode=700 tmpfs "$HOME/.local/state"
begin store 6 --fabric-disk 64M
head -c 200M /dev/zero > "$HOME/.local/state/other" 2> other.err # takes the rest of the disk
wait $run
check_equal "store: a server whose disk is full, and which answers nothing, ends the run: the exit status" 255 $?
check "... and the reason is given" grep -q "recording stopped: the session's server has not answered for 60 s" err
check "... nothing is left" wait_for 100 nothing_left # agents end by themselves, a minute later
check_part one
check_part two
umount -l "$HOME/.local/state"

mount -t tmpfs -o size=8M tmpfs small
begin small/copies 6
wait $run
check "copies: a full disk of the copies is an error" test $? -gt 0
check "... and reported" grep -qi 'no space\|full' err
check_part one
check_part two
check "... nothing is left" wait_for 100 nothing_left
finish
