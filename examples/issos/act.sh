#!/bin/sh
# SPDX-License-Identifier: MIT
# act.sh ACT ...: what an adaptation does to a process, with plain commands: for NOTIFY COMMAND of a view, or for an
# adaptation controller.
#
#   start COMMAND      another process                    move PID CPUS     to these processors: 0-3,8
#   nice PID NUMBER    how much it gives way (0 to 19)    limit PID N       at most N % of a processor, by a cgroup of its own
#   stop PID           until it is continued              continue PID
#   free PID           no limit any more
#
# To lower a nice value, and for limits, it needs the rights of root, or a cgroup that the user owns: DPM_CGROUP.
set -eu
usage() {
    echo "act.sh: $1; see its head" >&2
    exit 2
}

act=${1:-} pid=${2:-} value=${3:-}
case $act in
    start) [ -n "$pid" ] || usage "start: give a command" ;;
    move | nice | limit) [ -n "$value" ] || usage "$act: give a process and a value" ;;
esac
case $act:$pid in
    start:* | *:[1-9]*) ;;
    *) usage "'$act $pid': give an act and a process" ;;
esac

# The hierarchy that limits processors: cgroup v2, or v1's cpu.
if [ -n "${DPM_CGROUP:-}" ]; then
    cgroups=$DPM_CGROUP
elif [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    cgroups=/sys/fs/cgroup
else
    cgroups=/sys/fs/cgroup/cpu
fi
group=$cgroups/dpm-$pid

# limit MICROSECONDS: of each 100,000; "max": no limit.
limit() {
    if [ -e "$group/cpu.max" ]; then
        echo "$1 100000" > "$group/cpu.max"
    else
        echo 100000 > "$group/cpu.cfs_period_us"
        [ "$1" = max ] && set -- -1
        echo "$1" > "$group/cpu.cfs_quota_us"
    fi
}

case $act in
    start) setsid sh -c "$2" < /dev/null > /dev/null 2>&1 & ;;
    move) taskset -a -c -p "$value" "$pid" ;;
    nice) renice -n "$value" -p "$pid" ;;
    stop) kill -STOP "$pid" ;;
    continue) kill -CONT "$pid" ;;
    limit)
        mkdir -p "$group"
        [ -e "$group/cpu.max" ] || [ ! -e "$cgroups/cgroup.subtree_control" ] ||
            echo +cpu > "$cgroups/cgroup.subtree_control"
        limit $((value * 1000))
        echo "$pid" > "$group/cgroup.procs"
        ;;
    free) limit max ;;
    *) usage "there is no act '$act'" ;;
esac
