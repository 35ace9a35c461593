#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx_test.sh BUILD_FOLDER: a web server, a master with two workers, is acquired by name while requests come; its own
# access log must agree with the trace to the byte, on connections older than the recording and on new ones. Some of its
# pages come from a second server, so that workers communicate with each other.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs nginx curl
tests=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
port=$(free_port)
behind=$(free_port)

mkdir pages
chmod 755 . pages
echo small > pages/small
head -c 300000 /dev/zero > pages/large
cat > nginx.conf << CONF
daemon off;
worker_processes 2;
pid $scratch/nginx.pid;
error_log $scratch/error.log;
events { worker_connections 512; }
http {
    log_format bytes '\$msec \$remote_addr:\$remote_port \$bytes_sent \$request_length';
    sendfile on;
    keepalive_requests 100000;
    client_body_temp_path $scratch/body;
    proxy_temp_path $scratch/proxy;
    fastcgi_temp_path $scratch/fastcgi;
    uwsgi_temp_path $scratch/uwsgi;
    scgi_temp_path $scratch/scgi;
    upstream kept {
        server 127.0.0.1:$behind;
        keepalive 4;
    }
    server {
        listen 127.0.0.1:$port;
        access_log $scratch/front.log bytes;
        root $scratch/pages;
        location /kept/ {
            proxy_pass http://kept/;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }
        location /proxy/ { proxy_pass http://127.0.0.1:$behind/; }
    }
    server {
        listen 127.0.0.1:$behind;
        access_log $scratch/behind.log bytes;
        root $scratch/pages;
    }
}
CONF
python3 "$tests/beginnings.py" $port $behind > beginnings &
watcher=$!
wait_for 30 grep -q ready beginnings
master=
trap 'kill $watcher $master 2> kill.err; rm -rf "$scratch"' EXIT
nginx -c "$scratch/nginx.conf" -e "$scratch/error.log" > out 2>&1 &
master=$!
get() {
    curl -sf -o page "http://127.0.0.1:$port/$1"
}
wait_for 30 get small || skip_all "nginx does not answer: $(cat out error.log)"

# Clients that request a page again and again, each over one connection, while the file `going` exists. After the first
# answer each has a file asked.*.
cat > keep.py << 'END'
import http.client, os, sys, time

connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
while os.path.exists("going"):
    connection.request("GET", "/" + sys.argv[2])
    connection.getresponse().read()
    open("asked.%d" % os.getpid(), "w").close()
    time.sleep(0.02)
END
touch going
clients=
for page in small large kept/large; do
    timeout 200 /usr/bin/python3 keep.py $port $page &
    clients="$clients $!"
done
# shellcheck disable=SC2317 # called by wait_for
all_have_asked() {
    [ "$(find . -name 'asked.*' | wc -l)" = 3 ]
}
wait_for 30 all_have_asked # so their connections are older than the recording
# shellcheck disable=SC2046 # one word for each process
check "it is taken over while requests come" take_over -o nginx.trace --ring 64M $master $(pgrep -P $master)
begun=$(date +%s.%N)
for page in $(yes small large proxy/small proxy/large kept/small | head -n 8); do
    get "$page"
done
rm going
# shellcheck disable=SC2086 # one word for each
wait $clients
all_rest() {
    ! ps -o stat= --ppid $master | grep -q '^[RD]'
}
wait_for 30 all_rest # all have returned from their last calls
let_go
check_equal "... and released cleanly" 0 $?
check "... it runs on" kill -0 $master
workers=$(pgrep -P $master | sort | xargs)
kill -QUIT $master
wait $master
kill $watcher

"$dpm" dump --json --type path,send,receive nginx.trace 2> dump.err > records.json
check_equal "no record is lost" "" "$(grep lost dump.err)"
account() {
    check_equal "$1: bytes of every connection are those of the access log" "some older, some newer" \
        "$(python3 "$tests/nginx_account.py" 127.0.0.1:$2 $1.log beginnings "$begun" records.json)"
}
account front $port
account behind $behind
"$dpm" stats --json nginx.trace > stats.json 2> stats.err
check_equal "both workers and the master are processes of the trace" "nginx nginx nginx" \
    "$(for pid in $master $workers; do
        jq -r ".processes[] | select(.pid == $pid) | .program" stats.json
    done | xargs)"
finish
