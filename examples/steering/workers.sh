#!/bin/sh
# SPDX-License-Identifier: MIT
# workers.sh off|on|best: gunicorn with too few workers: 2 for 8 clients, whose pages wait 20 ms, as for a database.
. "$(dirname "$0")/study.inc"
needs='gunicorn wrk'
packages='gunicorn wrk'
port=18187
workers=2 most=8
[ "$setting" != best ] || workers=8

start() {
    serve_pages $workers
}

policy() {
    cat << POLICY
group load is name wrk
group app is name gunicorn
goal requests/s of load
workers of app from $workers to $most by $folder/gunicorn-workers $scratch/pid {}
POLICY
}

load() {
    wrk -t1 -c8 -d"$seconds" http://127.0.0.1:$port/ | of_wrk
}

play
