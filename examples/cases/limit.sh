#!/bin/sh
# SPDX-License-Identifier: MIT
# limit.sh before|after: a server whose control group may use 30% of a CPU, as containers are limited, and then no limit; one
# client, whose pages take 5 ms to compute.
. "$(dirname "$0")/case.inc"
change='--wait gunicorn,no_cpu=0'
programs='gunicorn wrk'
needs='gunicorn wrk'
packages='gunicorn wrk'

# A group, of the first or the second version of control groups, with 30 of each 100 ms.
limit() {
    for group in /sys/fs/cgroup/cpu/dpm-case.$$ /sys/fs/cgroup/dpm-case.$$; do
        mkdir "$group" 2> "$scratch/group" || continue
        trap 'finish; rmdir "$group"' EXIT
        ! (echo 30000 > "$group/cpu.cfs_quota_us" || echo "30000 100000" > "$group/cpu.max") 2> "$scratch/group" || return 0
        rmdir "$group"
        trap finish EXIT
    done
    echo "no control group can limit CPU time here: $(cat "$scratch/group")" >&2
    exit 77
}

start() {
    cat > "$scratch/page.py" << 'END'
import time


def page(environment, start_response):
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"done\n"]
END
    procs=/dev/null
    if [ "$setting" = before ]; then
        limit
        procs=$group/cgroup.procs
    fi
    # shellcheck disable=SC2016 # for that shell
    serve sh -c 'echo $$ > "$0" && exec "$@"' "$procs" gunicorn --chdir "$scratch" --bind 127.0.0.1:18087 --keep-alive 0 page:page
    ready 18087
}

load() {
    wrk -t1 -c1 -d"$seconds" --latency http://127.0.0.1:18087/ | of_wrk
}

play
