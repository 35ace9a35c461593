#!/bin/sh
# SPDX-License-Identifier: MIT
# fsync.sh before|after: redis syncs its log for each command, and then leaves that to the kernel. The log is on a disk: in the
# folder DISK, /var/tmp.
. "$(dirname "$0")/case.inc"
change='--wait redis-server,disk=0'
programs='redis-server fsync_client.py'
needs='redis-server /usr/bin/python3'
packages='redis-server python3'

start() {
    policy=always
    [ "$setting" = before ] || policy=no
    data=$(mktemp -d "${DISK:-/var/tmp}/case.XXXXXX")
    trap 'finish; rm -rf "$data"' EXIT
    serve redis-server --port 18082 --bind 127.0.0.1 --dir "$data" --save '' --appendonly yes \
        --appendfsync "$policy" --auto-aof-rewrite-percentage 0
    ready 18082
}

load() {
    /usr/bin/python3 "$folder/fsync_client.py" 18082 "$seconds"
}

play
