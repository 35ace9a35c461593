#!/bin/sh
# SPDX-License-Identifier: MIT
# services_test.sh BUILD_FOLDER: running services with one built-in cause of slowness are acquired, without their clients: the
# report says first where the time of their requests went, and dpm why has as many requests, and as much time, as the
# services or their clients say.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq python3
cd "$scratch" || exit 1
services=
trap '[ -z "$services" ] || kill $services 2> kill.err; rm -rf "$scratch"' EXIT

# is_so FILTER: for why.json
is_so() {
    jq -e "$1" why.json
}

# first: the report's first finding, on one line
first() {
    "$dpm" report service.trace | sed '1,/^What was found/d' | sed -n '1p; 2,${/^ /!q; p}' | tr -s '\n ' '  '
}

# acquired COMMAND...: runs the clients while the services given in $services are metered, and $more
acquired() {
    rm -rf service.trace
    # shellcheck disable=SC2086 # several words
    take_over -o service.trace --kinds tcp --ring 64M $more
    watched "$@" > clients.out 2> clients.err
    let_go INT
    "$dpm" why --json service.trace > why.json
}

# adds_up: whether the parts are the whole, and next to nothing is unknown
adds_up() {
    is_so ".requests | ([.rows[].time_ns] | add) == .time_ns and ([.spent_on_ns[]] | add) == .time_ns and .spent_on_ns.unknown <= 0.05 * .time_ns + 2 * $stalled"
}

# ---- a web server before two back ends, one of which sleeps ----

cat > back.py << 'END'
import http.server, sys, time
# Prints for how many ns it has slept for each request.
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        began = time.monotonic_ns()
        time.sleep(float(sys.argv[2]))
        print(time.monotonic_ns() - began, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
cat > ask.py << 'END'
# Asks so many times, and prints how many ns the answers took together.
import http.client, sys, time
took = 0
for _ in range(int(sys.argv[2])):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    connection.connect()
    began = time.monotonic_ns()
    connection.request("GET", "/")
    connection.getresponse().read()
    took += time.monotonic_ns() - began
    connection.close()
print(took)
END
if command -v nginx > found; then
    front=$(free_port) quick=$(free_port) slow=$(free_port)
    cat > nginx.conf << CONF
daemon off;
worker_processes 1;
pid $scratch/nginx.pid;
error_log $scratch/error.log;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $scratch/body;
    proxy_temp_path $scratch/proxy;
    fastcgi_temp_path $scratch/fastcgi;
    uwsgi_temp_path $scratch/uwsgi;
    scgi_temp_path $scratch/scgi;
    upstream both { server 127.0.0.1:$quick max_fails=0; server 127.0.0.1:$slow max_fails=0; }
    server { listen 127.0.0.1:$front; location / { proxy_pass http://both; } }
}
CONF
    python3 back.py "$quick" 0 > quick.out 2>&1 &
    services=$!
    python3 back.py "$slow" 0.03 > slow.out 2>&1 &
    sleeper=$!
    services="$services $sleeper"
    wait_for 30 python3 ask.py "$quick" 1
    wait_for 30 python3 ask.py "$slow" 1
    nginx -p "$scratch" -c nginx.conf > nginx.out 2>&1 &
    services="$services $!"
    wait_for 30 python3 ask.py "$front" 2
    more="--name nginx --pid ${services%% *} --pid $sleeper"
    earlier=$(wc -l < slow.out)
    acquired python3 ask.py "$front" 40
    tail -n +$((earlier + 1)) slow.out > sleeps
    check_equal "nginx before two back ends: its requests" 40 "$(jq .requests.count why.json)"
    # the client may get a processor long after its answer has come: the least is what the back end has slept
    check "... take no longer than their client says, and hardly less ($(cat clients.out) ns, $(jq .requests.time_ns why.json))" \
        is_so ".requests.time_ns <= $(cat clients.out) and .requests.time_ns >= $(jq -s add sleeps)"
    check "... parts add up, and next to nothing is unknown" adds_up
    check "... half of them sleep in one of the back ends, as it says ($(wc -l < sleeps))" is_so \
        "[.requests.rows[] | select(.pid == $sleeper and .spent_on == \"timer\").time_ns] | add | . >= $(wc -l < sleeps) * 30e6 and . <= $(jq -s add sleeps) + $(wc -l < sleeps) * 1e6"
    check "... the report names it first: $(first)" sh -c "echo '$(first)' | grep -q '^Time .*back.py $slow .*\[${sleeper}\].* slept until a timer'"
    check "... the slowest request shows the hops" is_so "[.requests.slowest.hops[].pid] | unique | length >= 2"
    # shellcheck disable=SC2086 # several words
    kill $services # TERM: a shell lets what runs in the background ignore INT
    # shellcheck disable=SC2086 # several words
    wait $services
    services=
else
    skip "nginx before two back ends" "nginx is not installed"
fi

# ---- a database that waits for its disk ----

if command -v postgres > found && command -v pgbench > found && command -v initdb > found; then
    port=$(free_port)
    chmod 755 .
    mkdir data
    chown nobody data
    setpriv --reuid nobody --regid nogroup --clear-groups env LC_ALL=C initdb -D data -A trust -U nobody --no-sync > initdb.out 2>&1
    cat >> data/postgresql.conf << CONF
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$scratch/data'
autovacuum = off
CONF
    setpriv --reuid nobody --regid nogroup --clear-groups env LC_ALL=C postgres -D data > log 2>&1 &
    services=$!
    export PGUSER=nobody PGSSLMODE=disable
    ask() {
        psql -h 127.0.0.1 -p "$port" -At -c "$1" postgres
    }
    wait_for 60 ask "select 1"
    pgbench -h 127.0.0.1 -p "$port" -i -q postgres > init.out 2>&1
    more="--name postgres"
    acquired timeout 60 pgbench -h 127.0.0.1 -p "$port" -n -N -c 2 -t 60 postgres
    check "postgres: transactions of pgbench, each of five statements: $(jq .requests.count why.json)" is_so \
        '.requests.count >= 2 * 60 * 5 and .requests.count <= 2 * 60 * 5 + 100'
    check "... parts add up, and next to nothing is unknown" adds_up
    check "... it waits for the disk, by fdatasync" is_so '[.requests.rows[] | select(.spent_on == "disk" and .system_call == "fdatasync").time_ns] | add > 0'
    check "... dpm why --waits has it in one row" sh -c "'$dpm' why --waits service.trace | grep -q 'postgres.* disk .*fdatasync'"
    kill -INT $services
    wait $services
    services=
else
    skip "postgres" "it is not installed"
fi
finish
