# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # compare.sh reads what is set here, sets what is read
# loads.sh: the measured programs. Read by compare.sh. A load is three functions:
#
#   use_LOAD      selects it as the load to measure, and starts its server
#   begin_LOAD    sets $targets, the processes that a tool is attached to
#   run_LOAD      runs for $run_time seconds, and sets $time and $cpu, its processes' CPU time, in
#                 nanoseconds for each unit of the load, and $units, the number of units
#
# Servers run on CPU 0, clients on CPU 1, if there is one.
asking_cpu=$(($(nproc) > 1))

# cannot_run WHAT FILE: ends the benchmark; the last line of the file has the reason.
cannot_run() {
    echo "$0: $1 does not run here: $(tail -n 1 "$2")" >&2
    exit 1
}

# ---- ping-pong: two processes on one CPU; a unit is a round trip, two messages ----

# use_pingpong tcp|udp|unix|pipe|lock|file
use_pingpong() {
    load=pingpong
    kind=$1
    load_title="$1 ping-pong on one CPU"
}

begin_pingpong() {
    rm -f "$scratch/gate"
    "$build/bench/pingpong" "$kind" 1000000 "$run_time" "$scratch/gate" > "$scratch/pingpong" 2>&1 &
    pingpong=$!
    running="$running $pingpong"
    wait_for 10 pgrep -P $pingpong || cannot_run pingpong "$scratch/pingpong"
    targets="$pingpong $(pgrep -P $pingpong)"
}

run_pingpong() {
    touch "$scratch/gate"
    wait $pingpong || cannot_run pingpong "$scratch/pingpong"
    forget $pingpong
    read -r time cpu units < "$scratch/pingpong"
}

# ---- servers: a unit is a request ----

# ask SIGNAL COMMAND...: runs the client command until the signal ends it; sets $spent, the CPU time of $targets
# meanwhile.
ask() {
    signal=$1
    shift
    spent=$(cpu_time $targets)
    status=0
    timeout -k 5 -s "$signal" "$run_time" taskset -c "$asking_cpu" "$@" > "$scratch/asked" 2>&1 ||
        status=$?
    [ $status = 124 ] || cannot_run "$1" "$scratch/asked"
    spent=$(($(cpu_time $targets) - spent))
}

# per_unit NANOSECONDS: for each of the $units.
per_unit() {
    echo "$1 $units" | awk '{ print $1 / $2 }'
}

# use_redis PIPELINE: redis-benchmark, where each client sends this many requests at a time.
use_redis() {
    load=redis
    pipeline=$1
    load_title="redis-server, 20 clients, pipeline $1"
    [ -n "${redis:-}" ] || serve_redis
}

begin_redis() {
    targets=$redis
}

# The time includes the client's start, some 10 ms; since all runs have it, ratios hardly change.
run_redis() {
    units=$(redis_commands)
    time=$(date +%s%N)
    ask TERM redis-benchmark -n 10000000 -c 20 -P "$pipeline" -t get -q
    time=$(($(date +%s%N) - time))
    units=$(($(redis_commands) - units))
    time=$(per_unit "$time")
    cpu=$(per_unit "$spent")
}

serve_redis() {
    taskset -c 0 redis-server --bind 127.0.0.1 --save "" --appendonly no > "$scratch/redis" 2>&1 &
    redis=$!
    running="$running $redis"
    wait_for 10 redis-cli ping || cannot_run redis-server "$scratch/redis"
}

redis_commands() {
    redis-cli info stats | tr -d '\r' | sed -n 's/^total_commands_processed://p'
}

# use_nginx: wrk requests a page of 1 KiB.
use_nginx() {
    load=nginx
    load_title="nginx, one worker, 20 clients"
    serve_nginx
}

begin_nginx() {
    targets=$worker
}

run_nginx() {
    ask INT wrk -t 1 -c 20 -d 60s http://127.0.0.1/page # it prints its result when interrupted
    units=$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' "$scratch/asked")
    time=$(awk '/^Requests\/sec:/ { print 1e9 / $2 }' "$scratch/asked")
    cpu=$(per_unit "$spent")
}

serve_nginx() {
    chmod 755 "$scratch"
    head -c 1024 /dev/zero > "$scratch/page"
    cat > "$scratch/nginx.conf" << CONF
daemon off;
worker_processes 1;
pid $scratch/nginx.pid;
events { worker_connections 512; }
http {
    access_log off;
    sendfile on;
    keepalive_requests 10000000;
    client_body_temp_path $scratch/body;
    proxy_temp_path $scratch/proxy;
    fastcgi_temp_path $scratch/fastcgi;
    uwsgi_temp_path $scratch/uwsgi;
    scgi_temp_path $scratch/scgi;
    server {
        listen 127.0.0.1:80;
        root $scratch;
    }
}
CONF
    taskset -c 0 nginx -c "$scratch/nginx.conf" -e "$scratch/nginx.err" > "$scratch/nginx" 2>&1 &
    nginx=$!
    running="$running $nginx"
    wait_for 10 pgrep -P $nginx || cannot_run nginx "$scratch/nginx"
    worker=$(pgrep -P $nginx)
}
