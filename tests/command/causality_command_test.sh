#!/bin/sh
# SPDX-License-Identifier: MIT
# causality_command_test.sh BUILD_FOLDER: `dpm causality` on real servers, compared with their own logs: nginx in front
# of two others, whose access log shows where it sent each request, while many are open at once; redis with many
# clients, which counts its commands; a pipeline; and errors.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs nginx curl redis-server redis-benchmark redis-cli
cd "$scratch" || exit 1
chmod 755 .
front=$(free_port)
first=$(free_port)
second=$(free_port)

# acquire TRACE PID...: acquires these processes; release ends it.
acquire() {
    trace=$1
    shift
    take_over -o "$trace" --kinds ${kinds:-tcp,unix} --ring 64M "$@"
}
release() {
    sleep 0.3
    let_go
}

# ---- a web server in front of two others ----

echo small > small
head -c 200000 /dev/zero > large
# configure NAME HTTP: the configuration of a server, with its own access log.
configure() {
    cat << CONF > "$1.conf"
daemon off;
worker_processes ${3:-1};
pid $scratch/$1.pid;
error_log $scratch/$1.error;
events { worker_connections 512; }
http {
    log_format upstream '\$upstream_addr';
    log_format worker '\$pid \$upstream_addr';
    access_log $scratch/$1.log upstream;
    access_log $scratch/$1.workers worker;
    keepalive_requests 100000;
    client_body_temp_path $scratch/$1.body;
    proxy_temp_path $scratch/$1.proxy;
    fastcgi_temp_path $scratch/$1.fastcgi;
    uwsgi_temp_path $scratch/$1.uwsgi;
    scgi_temp_path $scratch/$1.scgi;
    $2
}
CONF
}
configure first "server { listen 127.0.0.1:$first; root $scratch; }"
configure second "server { listen 127.0.0.1:$second; root $scratch; }"
configure front "
    upstream kept { server 127.0.0.1:$first weight=3; server 127.0.0.1:$second; keepalive 4; }
    upstream fresh { server 127.0.0.1:$first; server 127.0.0.1:$second; }
    server {
        listen 127.0.0.1:$front;
        root $scratch;
        location /kept/ {
            proxy_pass http://kept/;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
        }
        location /fresh/ { proxy_pass http://fresh/; }
    }" 2
masters=
trap 'kill $masters 2> kill.err; rm -rf "$scratch"' EXIT
for server in first second front; do
    nginx -c "$scratch/$server.conf" -e "$scratch/$server.error" > $server.out 2>&1 &
    masters="$masters $!"
done
for port in $first $second $front; do
    wait_for 30 curl -sf -o page "http://127.0.0.1:$port/small" ||
        skip_all "nginx does not answer: $(cat ./*.error)"
done

pages=15
! long_ones || pages=30
# The kernel chooses which worker accepts: repeat until both have forwarded requests.
workers() {
    awk '$2 != "-" { print $1 }' front.workers | sort -u | wc -l
}
record_web() {
    rm -rf web.trace
    # shellcheck disable=SC2046,SC2086 # one word for each process
    acquire web.trace $masters $(for master in $masters; do pgrep -P "$master"; done)
    # (nginx logs a request after its answer)
    : > front.log
    : > front.workers
    clients=
    for client in 1 2 3 4 5 6 7 8; do
        # one connection for all requests of one client
        for page in $(seq $pages); do
            for name in kept/small fresh/small small kept/large fresh/large; do
                echo "url = \"http://127.0.0.1:$front/$name?$page\""
                echo 'output = /dev/null'
            done
        done > "urls.$client"
        timeout 60 curl -sf -K "urls.$client" &
        clients="$clients $!"
    done
    # many at once, so that each worker creates many connections before it uses them
    timeout 60 curl -sf -Z --parallel-immediate --parallel-max 100 -o "page#1" \
        "http://127.0.0.1:$front/fresh/small?[1-300]" > /dev/null 2> curl.err &
    clients="$clients $!"
    # shellcheck disable=SC2086 # one word for each
    wait $clients
    for _ in $(seq 20); do
        [ "$(workers)" -lt 2 ] || break
        timeout 60 curl -sf -Z --parallel-immediate --parallel-max 100 -o "page#1" \
            "http://127.0.0.1:$front/fresh/small?[1-100]" > /dev/null 2> curl.err
    done
    release
    "$dpm" stats --json web.trace > stats.json 2> dump.err
}
repeat record_web
check "three web servers are taken over" grep -q '^dpm: metering 7 processes' err
# shellcheck disable=SC2086
kill -QUIT $masters
# shellcheck disable=SC2086
wait $masters
masters=

"$dpm" causality --json --slowest 3 web.trace > web.json 2> web.err
check_equal "it has nothing to complain of" "" "$(cat web.err)"
logged() {
    grep -cx -e "$1" front.log
}
# letters_of NAME: those of the processes that wrote this server's log; their connections identify their pids.
letter_of_port() {
    pid=$("$dpm" dump --json --type accept web.trace |
        jq -r "select(.local == \"127.0.0.1:$1\") | .pid" | sort -u)
    jq -r --arg pid "$pid" '.processes[] | select((.pid | tostring) == $pid) | .letter' web.json
}
one=$(letter_of_port "$first")
two=$(letter_of_port "$second")
# strings FILTER: how many requests have such a signature.
strings() {
    jq -r "[.strings[] | select(.string | test(\"$1\")) | .count] | add // 0" web.json
}
check_equal "requests are as many as in the log" "$(wc -l < front.log)" "$(jq .requests.count web.json)"
check_equal "all have got a reply" "$(wc -l < front.log)" "$(jq .requests.replies web.json)"
check_equal "the first server got those that the log says" "$(logged "127.0.0.1:$first")" \
    "$(strings "^[^${one}${two}]${one}[^${one}${two}]$")"
check_equal "the second too" "$(logged "127.0.0.1:$second")" "$(strings "^[^${one}${two}]${two}[^${one}${two}]$")"
check_equal "others were not sent on" "$(logged -)" "$(strings '^.$')"
check_equal "there is no other way" "$(wc -l < front.log)" "$(strings .)"
check_equal "... and each comes back to where it came from" 0 "$(jq '[.strings[].string |
    select(length == 3 and .[0:1] != .[2:3])] | length' web.json)"
check_equal "probabilities are shares of the log" \
    "$(awk -v "to=127.0.0.1:$first" '$1 != "-" { all++; first += $1 == to }
        END { printf "%.3f", first / all }' front.log)" \
    "$(jq -r --arg one "$one" '[.transitions[] | select(.from == "requestor")] |
        ([.[] | select(.next == $one).count] | add) / ([.[].count] | add) * 1000 | round / 1000' web.json |
        awk '{ printf "%.3f", $1 }')"
# each worker's own share
jq -r '.processes[] | select(.letter != null) | "\(.pid) \(.letter)"' web.json > letters
for worker in $(awk '$2 != "-" { print $1 }' front.workers | sort -u); do
    letter=$(awk -v pid="$worker" '$1 == pid { print $2 }' letters)
    for server in "$first $one" "$second $two"; do
        check_equal "a worker's probability of the next server is what it has logged: $letter to ${server#* }" \
            "$(awk -v pid="$worker" -v to="127.0.0.1:${server% *}" '$1 == pid && $2 != "-" { all++; sent += $2 == to }
                END { printf "%.9f", sent / all }' front.workers)" \
            "$(jq -r --arg at "$letter" --arg next "${server#* }" '[.transitions[] |
                select(.from == "requestor" and .at == $at and .next == $next).probability] | add // 0' web.json |
                awk '{ printf "%.9f", $1 }')"
    done
done
check_equal "both workers have had requests" 2 "$(workers)"
check "every probability is the share of its context" jq -e '.transitions as $all | ($all | length) > 3 and
    all($all[]; . as $is | (.count / ([$all[] | select(.context == $is.context).count] | add) - .probability | fabs) < 1e-12)
    ' web.json
check "substrings are in the order of the letters" jq -e \
    '[.substrings[].string] | length > 3 and . == sort and . == unique' web.json
check "answers are proved by their connections" jq -e \
    '.precision.proved.path * 2 == .requests.messages' web.json
check_equal "proved and assumed are all" "$(jq .requests.messages web.json)" \
    "$(jq '[.precision | .proved, .assumed | .[]] | add' web.json)"
check_equal "nothing is unknown" "0 0 0 0" \
    "$(jq -r '.precision | "\(.late) \(.unmatched) \(.unknown_paths) \(.ambiguous)"' web.json)"
check "the slowest is the slowest of all" jq -e \
    '.slowest[0].duration_ns == ([.paths[].latency_ns.max] | max)' web.json
check "... with its events" jq -e \
    '.slowest[0] | (.events | length) == (.string | length) and .events[0].from == "requestor"' web.json
check "every string has its latency" jq -e \
    'all(.paths[]; .count == .latency_ns.count and .latency_ns.p50 <= .latency_ns.p99)' web.json
"$dpm" causality --by-program --json web.trace > program.json
check_equal "by program all share a letter" "A AAA" "$(jq -r '[.strings[].string] | join(" ")' program.json)"
pids=$(jq -r --arg one "$one" --arg two "$two" '[.processes[] |
    select(.letter != $one and .letter != $two and .role == "server").pid] | join(",")' web.json)
"$dpm" causality --json --server "$pids" web.trace > named.json
check_equal "with only the workers named the others are system processes" "$(wc -l < front.log)" \
    "$(jq '[.strings[] | select(.string | length == 1).count] | add' named.json)"
check "... and have that role" jq -e '[.processes[] | select(.role == "system")] | length == 2' named.json

# ---- output ----

check "tables, and two diagrams" "$dpm" causality --strings --slowest 2 --diagram web.svg web.trace
"$dpm" causality --strings --context 3 --diagram web.dot web.trace > web.txt
check "there are sequences" grep -q '^Message sequences' web.txt
check "it says how it is known" grep -q '^Messages were attributed to requests: proved' web.txt
check "it says what was matched" grep -q '^Matched receives: ' web.txt
"$dpm" causality --json --strings --context 3 web.trace > notes.json
check_equal "it notes what its JSON counts" \
    "$(jq '.requests.not_metered, .requests.of_later_servers,
        (.precision | del(.proved, .proved_share, .assumed) | .[]) | select(. > 0)' notes.json)" \
    "$(sed -n '/^Matched receives: /,$s/^\([0-9,]*\) .*\.$/\1/p' web.txt | tr -d ,)"
if command -v xmllint > /dev/null; then
    check "the picture is XML" xmllint --noout web.svg
fi
check_equal "the picture has an arrow for each transition, reply and entry" \
    "$(jq '(.transitions | length) + (.replies | length) +
        ([.transitions[], .replies[] | select(.from == "requestor").at] | unique | length)' web.json)" \
    "$(grep -c '<g class="arc' web.svg)"
if command -v dot > /dev/null; then
    check "the graph is one for Graphviz" dot -Tcanon -o canon web.dot
fi

# ---- a server of many clients at once ----

port=$(free_port)
redis-server --port "$port" --save "" --appendonly no > redis.out 2>&1 &
masters=$!
kinds=tcp
wait_for 30 redis-cli -p "$port" ping
record_redis() {
    rm -rf redis.trace
    acquire redis.trace $masters
    redis-cli -p "$port" config resetstat > reset
    redis-benchmark -p "$port" -n 3000 -c 20 -t set,get -q > bench 2>&1
    redis-cli -p "$port" info commandstats > stats
    release
    "$dpm" stats --json redis.trace > stats.json 2> dump.err
}
repeat record_redis
"$dpm" causality --json redis.trace > redis.json 2> redis.err
# The statistics include resetstat itself, since a command counts when it is done, but not the INFO that asks. The two
# CONFIG GET with which redis-benchmark begins are one message.
commands=$(awk -F '[:=,]' '/^cmdstat_/ { sum += $3 } /^cmdstat_config.get:/ { sum -= $3 - 1 } END { print sum + 1 }' stats)
check_equal "redis says what it did" "3000 3000" "$(sed -n 's/^cmdstat_[gs]et:calls=\([0-9]*\),.*/\1/p' stats | xargs)"
check_equal "redis: each command is a request" "$commands" "$(jq .requests.count redis.json)"
check_equal "... and has the string of one" "A $commands" "$(jq -r '.strings[] | "\(.string) \(.count)"' redis.json)"
check "... all replied to" jq -e '.requests.count == .requests.replies' redis.json

timeout 60 redis-benchmark -p "$port" -l -c 10 -t set -q > bench 2>&1 &
bench=$!
wait_for 30 pgrep -P $bench -x redis-benchmark
# it stands still until it is metered: that takes long
asking=$(pgrep -P $bench)
kill -STOP "$asking"
acquire both.trace $masters "$asking"
kill -CONT "$asking"
# until it has asked for some time: only then does it use the CPU
used=$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$asking/stat")
wait_for 30 has_computed "$asking" $((used + 5))
release
kill $bench $masters
wait $bench $masters 2> wait.err
masters=
"$dpm" causality --json both.trace > both.json
check_equal "a client that is metered is a requestor" "redis-benchmark requestor - redis-server server A" \
    "$(jq -r '[.processes | sort_by(.name)[] | "\(.name) \(.role) \(.letter // "-")"] | join(" ")' both.json)"
# (requests in flight at the acquisition have no requestor)
check "... who has made the requests" jq -e '.requests.count > 200 and .requests.not_metered <= 40 and
    ([.processes[].requests] | add) == .requests.count - .requests.not_metered' both.json

# ---- a pipeline ----

"$dpm" run -o pipe.trace --kinds pipe -- sh -c 'for i in 1 2 3; do echo $i; sleep 0.1; done | sed -u s/^/x/ | cat > piped' \
    > out 2> err
"$dpm" causality --json pipe.trace > pipe.json
check_equal "a pipeline: each line goes all the way" "AB 3" \
    "$(jq -r '.strings[] | "\(.string) \(.count)"' pipe.json)"
check_equal "... for certain" 1 "$(jq .precision.proved_share pipe.json)"

"$dpm" causality --server sed,nosuch pipe.trace > out 2> err
check_equal "a server that is not there is named" "0 dpm: note: --server: no process nosuch in the traces" "$? $(cat err)"

# ---- errors ----

# fails NAME STATUS TEXT ARGUMENT...: dpm causality fails with this status and one line.
fails() {
    what=$1
    status=$2
    said=$3
    shift 3
    "$dpm" causality "$@" > out 2> err
    check_equal "$what" "$status 1" "$? $(grep -c "$said" err)"
}
fails "no trace" 2 'name a trace'
fails "no such trace" 1 'nothing.trace' nothing.trace
fails "a length that there is not" 2 'a number from 2 to 16' --length 17 pipe.trace
fails "a context that there is not" 2 'a number from 1 to 15' --context 0 pipe.trace
fails "a diagram of no known kind" 2 'the suffix .svg, .dot or .gv' --diagram x.png pipe.trace
fails "a diagram that cannot be written" 1 'cannot be written' --diagram none/x.svg pipe.trace
fails "an empty name" 2 'names or pids' --server a,,b pipe.trace
finish
