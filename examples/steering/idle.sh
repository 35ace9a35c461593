#!/bin/sh
# SPDX-License-Identifier: MIT
# idle.sh off|on|best: nothing should be done, and nothing is: gunicorn with enough workers for its 4 clients, whose pages wait 20 ms.
. "$(dirname "$0")/study.inc"
needs='gunicorn wrk'
packages='gunicorn wrk'
port=18188

start() {
    serve_pages 8
}

policy() {
    cat << POLICY
group load is name wrk
group app is name gunicorn
goal requests/s of load
workers of app from 8 to 16 by $folder/gunicorn-workers $scratch/pid {}
weight of app up to 8
cpus of load app
POLICY
}

load() {
    wrk -t1 -c4 -d"$seconds" http://127.0.0.1:$port/ | of_wrk
}

play
