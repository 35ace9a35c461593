#!/bin/sh
# SPDX-License-Identifier: MIT
# neighbours.sh off|on|best: a pair that talks much, nginx and its client, in a control group of its own, among neighbours that compute: two
# for each CPU. Found by hand: 16 times the weight.
. "$(dirname "$0")/study.inc"
needs='nginx wrk'
packages='nginx wrk'
port=18199

make_group() {
    for group in /sys/fs/cgroup/cpu/dpm-study.$$ /sys/fs/cgroup/dpm-study.$$; do
        mkdir "$group" 2> "$scratch/group" || continue
        trap 'finish; until rmdir "$group"; do sleep 0.1; done' EXIT
        [ ! -e "$group/cpu.shares" ] && [ ! -e "$group/cpu.weight" ] || return 0
        rmdir "$group"
        trap finish EXIT
    done
    echo "no control group has weights here: $(cat "$scratch/group")" >&2
    exit 77
}

# within COMMAND...: in the group.
within() {
    # shellcheck disable=SC2016 # for that shell
    exec sh -c 'echo $$ > "$0" && exec "$@"' "$group/cgroup.procs" "$@"
}

start() {
    make_group
    if [ "$setting" = best ]; then
        ! [ -e "$group/cpu.shares" ] || echo 16384 > "$group/cpu.shares"
        ! [ -e "$group/cpu.weight" ] || echo 1600 > "$group/cpu.weight"
    fi
    cat > "$scratch/nginx.conf" << END
daemon off;
worker_processes 1;
pid $scratch/nginx.pid;
error_log $scratch/error.log;
events {}
http {
    access_log off;
    server {
        listen 127.0.0.1:$port;
        location / { return 200 "done\n"; }
    }
}
END
    serve within nginx -c "$scratch/nginx.conf"
    ready $port
    for _ in $(seq $(($(nproc) * 2))); do
        serve timeout $((seconds + 30)) sh -c 'while :; do :; done'
    done
}

policy() {
    cat << POLICY
group load is name wrk
group server is name nginx
goal requests/s of load
cpus of load server
weight of load server up to 16 in ${group:-/sys/fs/cgroup/cpu/dpm-study}
POLICY
}

load() {
    within wrk -t1 -c4 -d"$seconds" http://127.0.0.1:$port/ | of_wrk
}

play
