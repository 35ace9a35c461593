#!/bin/sh
# SPDX-License-Identifier: MIT
# threadpool.sh before|after: node with one thread for what its loop cannot do, and then 8; eight clients, for each of whose answers such
# a thread computes for some 4 ms. So the processors are the next limit.
. "$(dirname "$0")/case.inc"
change='--replicas node=8'
programs='node wrk'
needs='node wrk'
packages='nodejs wrk'

start() {
    threads=1
    [ "$setting" = before ] || threads=8
    cat > "$scratch/server.js" << 'END'
const { pbkdf2 } = require('crypto'), http = require('http');
http.createServer((request, response) => {
    pbkdf2('secret', 'salt', 20000, 32, 'sha256', () => response.end('done\n'));
}).listen(18089, '127.0.0.1');
END
    UV_THREADPOOL_SIZE=$threads serve node "$scratch/server.js"
    ready 18089
}

load() {
    wrk -t1 -c8 -d"$seconds" --latency http://127.0.0.1:18089/ | of_wrk
}

play
