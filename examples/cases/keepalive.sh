#!/bin/sh
# SPDX-License-Identifier: MIT
# keepalive.sh before|after: nginx makes a connection to its back end, another nginx, for each request, as it does if nothing else is
# said, and then keeps them.
. "$(dirname "$0")/case.inc"
change='--keep-connections nginx>nginx'
programs='nginx wrk'
needs='nginx wrk'
packages='nginx-light wrk'

# configure NAME TEXT: an nginx with one worker.
configure() {
    cat > "$scratch/$1.conf" << END
user www-data;
daemon off;
worker_processes 1;
pid $scratch/$1.pid;
error_log $scratch/$1.log;
events {}
http {
    access_log off;
    keepalive_requests 1000000;
    $2
}
END
    serve nginx -c "$scratch/$1.conf"
}

start() {
    keep=''
    [ "$setting" = before ] || keep='keepalive 32;'
    configure back 'server { listen 127.0.0.1:18087; location / { return 200 done; } }'
    ready 18087
    configure front "upstream back { server 127.0.0.1:18087; $keep }
    server {
        listen 127.0.0.1:18086;
        location / { proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection ''; }
    }"
    ready 18086
}

load() {
    wrk -t1 -c4 -d"$seconds" --latency http://127.0.0.1:18086/ | of_wrk
}

play
