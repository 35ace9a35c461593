#!/bin/sh
# SPDX-License-Identifier: MIT
# threads.sh before|after: one synchronous worker, gunicorn's default, and then 8 threads, for 8 clients; a page waits 20 ms, as
# for a back end.
. "$(dirname "$0")/case.inc"
change='--replicas gunicorn=8'
programs='gunicorn wrk'
needs='gunicorn wrk'
packages='gunicorn wrk'

start() {
    threads=1
    [ "$setting" = before ] || threads=8
    cat > "$scratch/page.py" << 'END'
import time


def page(environment, start_response):
    time.sleep(0.02)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"done\n"]
END
    serve gunicorn --chdir "$scratch" --bind 127.0.0.1:18081 --threads "$threads" --keep-alive 0 page:page
    ready 18081
}

load() {
    wrk -t1 -c8 -d"$seconds" --latency http://127.0.0.1:18081/ | of_wrk
}

play
