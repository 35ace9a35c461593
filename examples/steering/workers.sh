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
    cat > "$scratch/page.py" << 'PAGE'
import time


def page(environment, start_response):
    time.sleep(0.02)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"done\n"]
PAGE
    serve gunicorn --chdir "$scratch" --pid "$scratch/pid" --workers $workers --bind 127.0.0.1:$port --keep-alive 0 page:page
    ready $port
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
