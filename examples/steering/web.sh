#!/bin/sh
# SPDX-License-Identifier: MIT
# web.sh off|on|best: nginx with two back ends, each with four threads that take 10 ms for a request. After a third of the time one of
# them takes 50 ms. Found by hand: five of six requests to the one that stays as it is.
. "$(dirname "$0")/study.inc"
needs='nginx wrk /usr/bin/python3'
packages='nginx wrk python3'
port=18190

start() {
    for name in one two; do
        cat > "$scratch/backend-$name" << 'PAGE'
import os, socket, sys, threading, time

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)


def answer():
    while True:
        connection = listener.accept()[0]
        if connection.recv(65536):
            time.sleep(0.05 if os.path.exists(sys.argv[2]) else 0.01)
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\ndone\n")
        connection.close()


threads = [threading.Thread(target=answer) for _ in range(4)]
for thread in threads:
    thread.start()
PAGE
    done
    serve /usr/bin/python3 "$scratch/backend-one" $((port + 1)) "$scratch/slow-one"
    serve /usr/bin/python3 "$scratch/backend-two" $((port + 2)) "$scratch/slow-two"
    cat > "$scratch/nginx.conf" << END
daemon off;
worker_processes 1;
pid $scratch/nginx.pid;
error_log $scratch/error.log;
events {}
http {
    access_log off;
    upstream back {
        include $scratch/upstream;
    }
    server {
        listen 127.0.0.1:$port;
        location / { proxy_pass http://back; }
    }
}
END
    share=50
    [ "$setting" != best ] || share=83
    "$folder/nginx-shares" "$scratch" $((port + 1)) $((port + 2)) $share $((100 - share))
    ready $((port + 1))
    ready $((port + 2))
    serve nginx -c "$scratch/nginx.conf"
    ready $port
}

policy() {
    cat << POLICY
group load is name wrk
group one is name backend-one
group two is name backend-two
goal requests/s of load
shares of one two by $folder/nginx-shares $scratch $((port + 1)) $((port + 2)) {}
POLICY
}

load() {
    (sleep $((seconds / 3)) && touch "$scratch/slow-two") &
    wrk -t1 -c8 -d"$seconds" http://127.0.0.1:$port/ | of_wrk
}

play
