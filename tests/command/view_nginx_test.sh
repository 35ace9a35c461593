#!/bin/sh
# SPDX-License-Identifier: MIT
# view_nginx_test.sh BUILD_FOLDER: a view over the variables of nginx, which was not made for it, is notified when nginx's own
# page says so.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
long_ones || skip_all "another program as in view_run: only with ./dev test --all"
need_meter
need_programs nginx python3 jq
nm -D "$(command -v nginx)" 2> "$scratch/nm.err" | grep -q ngx_stat_active || skip_all "this nginx has no ngx_stat_active"
view=$(realpath "$(dirname "$0")/../../examples/issos/nginx.view")
act=$(realpath "$(dirname "$0")/../../examples/issos/act.sh")
cd "$scratch" || exit 1
port=$(free_port)
mkdir tmp
cat > nginx.conf << EOF_
worker_processes 1; daemon off; pid $scratch/nginx.pid; error_log $scratch/error.log; user root;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
    server { listen 127.0.0.1:$port; location / { stub_status; } }
}
EOF_
nginx -p "$scratch" -c nginx.conf > nginx.out 2>&1 &
master=$!
trap 'kill $master 2> kill.err; rm -rf "$scratch"' EXIT
worker_of() {
    pgrep -P $master > worker
}
wait_for 30 worker_of
"$dpm" view --object "nginx=$(cat worker)" --control control --json run "$view" > lines 2> err &
monitor=$!
wait_for 30 "$dpm" view control control probe nginx.active
# connections.py: opens one connection after the other, and says what nginx's page says while they are open, on one of them
cat > connections.py << 'EOF_'
import re, socket, sys
port = int(sys.argv[1])
open_ones = []
for _ in range(8):
    open_ones.append(socket.create_connection(("127.0.0.1", port)))
    open_ones[-1].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    page = b""
    while b"Waiting" not in page:
        page += open_ones[-1].recv(4096)
    active, accepted = re.search(rb"connections: (\d+) .*requests\n (\d+)", page, re.S).groups()
    print(int(active), int(accepted))
sys.stdout.flush()
sys.stdin.readline()
EOF_
mkfifo go
python3 connections.py "$port" < go > pages &
connections=$!
exec 9> go
wait_for 30 sh -c '[ "$(wc -l < pages)" = 8 ]'
wait_for 30 test -s notified
check_equal "the view is active with the connection for which nginx's page says 5" "$(awk '$1 >= 5' pages | head -n 1)" \
    "$(jq -r '.values | "\(.active) \(.accepted)"' notified)"
check_equal "... and changes with each" "$(awk '$1 >= 5' pages)" \
    "$(jq -r 'select(.change == "active" or .change == "changed") | .values | "\(.active | round) \(.accepted | round)"' lines)"
check_equal "a probe says what the page says" "$(tail -n 1 pages | cut -d ' ' -f 1)" \
    "$("$dpm" view control control probe nginx.active | jq '.value | round')"
# nginx's own variable, and a figure of its worker: an act changes the worker, as the kernel says
{ sed '/^VIEW/,$d' "$view"; cat << EOF_; } > crowded.view
VIEW DEF Crowded (active: nginx.active, pid: process[$(cat worker)].Process-Id)
    ACTIVE WHEN nginx.active >= 5 AND process[$(cat worker)].cpu >= 0;
    CORRECT TO WITHIN 10 S;
    NOTIFY COMMAND "sh $act nice \$DPM_VALUE_pid 5; echo \$DPM_VALUE_active > acted" WITHIN 1 S;
END VIEW DEF
EOF_
"$dpm" view --every 200ms --object "nginx=$(cat worker)" run crowded.view > crowded.out 2> crowded.err &
crowded=$!
wait_for 30 test -s acted
check_equal "a view over its variable and a figure acts on it" "$(tail -n 1 pages | cut -d ' ' -f 1), nice 5" \
    "$(cat acted), nice $(cut -d ')' -f 2 "/proc/$(cat worker)/stat" | cut -d ' ' -f 18)"
kill $crowded
wait $crowded
echo >&9
exec 9>&-
wait $connections
check "the connections are closed: it is inactive" wait_for 30 sh -c 'grep -q "\"change\":\"inactive\"" lines'
kill $monitor
wait $monitor
finish
