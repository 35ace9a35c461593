#!/bin/sh
# SPDX-License-Identifier: MIT
# live_test.sh BUILD_FOLDER: `dpm live` of traces: who may read, what the metrics say, labels that stay few, readers that are
# slow; the events of the page, by their ids; and snapshots of generated traces against `dpm stats`. prometheus_test.sh has the
# real reader of metrics, live_browser_test.sh that of the page.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
. "$tests/sample.sh"
need_programs curl jq

# serve NAME OPTION...: starts dpm live; sets `live` and `url`.
serve() {
    name=$1
    shift
    rm -f "$name.err" # what an earlier server of this name said is no answer of this one
    "$dpm" live --port 0 "$@" 2> "$name.err" &
    live=$!
    wait_for 60 grep -q '/metrics' "$name.err" || cat "$name.err"
    url=$(sed -n 's/^dpm: metrics of .*: \(http:[^ ,]*\).*/\1/p' "$name.err")
}

stop() {
    kill $live
    wait $live
}

# status OPTION...: the HTTP status of the answer.
status() {
    curl -s -m 60 -o answer -w '%{http_code}' "$@"
}

# ---- snapshots of generated traces ----

for seed in 1 2; do
    mkdir generated
    "$build/bench/generate" --seed $seed --records 40000 --processes 40 --paths 120 --churn 500 generated/a generated/b > /dev/null
    check "snapshots of a generated trace agree with dpm stats at any time (seed $seed)" \
        /usr/bin/python3 "$tests/../stories/live_account.py" "$build" --traces generated
    rm -rf generated
done

# ---- lines of JSON that cannot be written ----

"$dpm" stats --interval 10ms --json alpha > /dev/full 2> err
check_equal "a line that cannot be written is an error" 1 $?
check "... which is named" grep -qx 'dpm: cannot write standard output: No space left on device' err
"$dpm" stats --interval 10ms --json alpha 2> err | head -c 1 > /dev/null
check_equal "... but no reader that goes away" "" "$(cat err)"

# ---- a trace ----

serve alpha alpha
has_all() {
    curl -sf "$url" > metrics && grep -q '^dpm_recording_events_total 51$' metrics
}
check "the metrics of a trace that has ended stay" wait_for 60 has_all
check_equal "... lost records are among them" 'dpm_recording_lost_records_total 3' "$(grep '^dpm_recording_lost' metrics)"
check_equal "... messages and bytes are those of dpm stats" \
    "$("$dpm" stats --json --by program alpha 2> /dev/null | jq '[.groups[].sent.messages] | add')" \
    "$(awk '/^dpm_program_sent_messages_total/ { sum += $NF } END { print sum }' metrics)"
check_equal "... every line is a comment, or a name and a number" 0 \
    "$(LC_ALL=C grep -cvE '^#|^[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)*\})? [0-9.]+$' metrics)"
check_equal "... no pid, and no command line, is in it" 0 "$(grep -c -e 'pid=' -e 'command=' metrics)"
check_equal "... each has labels of its own, whatever names hold" "" "$(sed '/^#/d; s/ [^ ]*$//' metrics | sort | uniq -d)"
check "... a program's name, and that of its machine" grep -q '^dpm_program_sent_messages_total{program="[^"@]*",machine="alpha"} ' metrics
check_equal "... the metrics of a service graph" \
    "traces_service_graph_request_client_seconds
traces_service_graph_request_failed_total
traces_service_graph_request_server_seconds
traces_service_graph_request_total" "$(sed -n 's/^# TYPE \(traces_[a-z_]*\) .*/\1/p' metrics | sort)"
check_equal "... each bucket holds those before it, and all are the count" "" "$(awk '
    /_bucket/ { if (last != "" && $0 !~ /le="0.0001"/ && $NF < before) print; before = $NF; last = $0 }
    /_seconds_count/ && $NF != before { print }' metrics)"
curl -sf -H 'Accept: application/openmetrics-text; version=1.0.0' -D head "$url" > open
check "OpenMetrics, if it is asked for" grep -qi '^content-type: application/openmetrics-text; version=1.0.0' head
check_equal "... it ends as it must" '# EOF' "$(tail -n 1 open)"

check_equal "another path" 404 "$(status "${url%metrics}other")"
check_equal "another method" 405 "$(status -X POST "$url")"
head -c 100000 /dev/zero | tr '\0' x > body
check_equal "... also with a body" 405 "$(status --data @body "$url")"
check_equal "... and with one that is announced first" 405 "$(status -H 'Expect: 100-continue' --data @body "$url")"
check_equal "a page of another host that has our address" 403 "$(status -H 'Host: evil.example' "$url")"
check_equal "... whatever its name begins with" 403 "$(status -H 'Host: localhost.evil.example' "$url")"
check_equal "localhost, by name" 200 "$(status -H 'Host: localhost:80' "$url")"
check_equal "a head alone" 200 "$(status -I "$url")"

# readers that ask, and send no end of their question: one falls silent, the others send a byte a second. Each says what ended it.
port=${url##*:}
port=${port%/metrics}
cat > slow.py << 'END'
import select, socket, sys
reader = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
try:
    while not select.select([reader], [], [], 1)[0]:
        reader.sendall(sys.argv[2].encode())
    ended = "closed\n" if reader.recv(1) == b"" else "answered\n"
except ConnectionError:
    ended = "closed\n"
sys.stdout.write(ended)
END
for byte in '' x x; do
    timeout 120 /usr/bin/python3 slow.py "$port" "$byte" >> slow.out &
done
check_equal "slow readers: others have their answers meanwhile" 200 "$(status "$url")"
all_closed() {
    [ "$(grep -c closed slow.out)" = 3 ]
}
check "... they lose their connections, also with a byte each second" wait_for 110 all_closed
has_dropped() {
    curl -sf "$url" | grep -q '^dpm_live_dropped_readers_total 3$'
}
check "... and are counted" wait_for 60 has_dropped
stop
check_equal "a signal ends it in order" 0 $?

serve alpha --listen 127.0.0.2 alpha
is_served() {
    [ "$(status "$url")" = 200 ]
}
check "another address of loopback is served as it is printed" wait_for 60 is_served
check "... with that address" sh -c 'case $1 in http://127.0.0.2:*) ;; *) false ;; esac' - "$url"
"$dpm" live --listen 127.0.0.2 --port "$(echo "$url" | sed 's/.*:\([0-9]*\).*/\1/')" alpha 2> err
check_equal "a port that is in use" 1 $?
check "... is named, with what to do" grep -q '^dpm: cannot listen at 127.0.0.2:[0-9]*: Address already in use: choose another port$' err
stop

# ---- the library, which is loaded when a server starts ----

check_equal "no other command loads libmicrohttpd" 0 "$(ldd "$dpm" | grep -c microhttpd)"
library=$(ldconfig -p | sed -n 's/.*libmicrohttpd\.so\.12 .* => //p' | head -n 1)
if unshare --mount true 2> err; then
    : > nothing
    unshare --mount sh -c 'mount --bind nothing "$1" && exec "$2" live --port 0 alpha' - "$library" "$dpm" 2> err
    check_equal "without it nothing is served" 1 $?
    check "... with what to install" grep -q '^dpm: metrics need the library libmicrohttpd: apt-get install libmicrohttpd12 ' err
else
    skip "without it nothing is served" "$(cat err)"
fi

# ---- labels that stay few ----

mkdir many
"$build/bench/generate" --records 30000 --processes 2000 --paths 2000 many/a many/b > /dev/null
serve many many
has_many() {
    curl -sf "$url" > metrics && grep -q '^dpm_program_sent_messages_total' metrics
}
check "of 2,000 processes there are few metrics" wait_for 60 has_many
check_equal "... 201 of each at most, but kinds of waits and buckets" 201 \
    "$(grep -v -e '^#' -e _bucket -e wait_seconds metrics | sed 's/{.*//' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $1 }')"
check_equal "... each with labels of its own" "" "$(sed '/^#/d; s/ [^ ]*$//' metrics | sort | uniq -d)"
stop

# ---- the page ----

# page: the latest address that was printed, and its beginning.
page() {
    address=$(sed -n 's/^dpm: page of .*: \(http:[^ ]*\) (once.*/\1/p' "$name.err" | tail -n 1)
    root=${address%/\?*}
}

serve follow --interval 100ms alpha
page
check_equal "the page without the cookie" 401 "$(status "$root/")"
check "... with what to do" grep -q '^Open the latest address that dpm live has printed' answer
check_equal "... its events, too" 401 "$(status "$root/events")"
check_equal "... and the latest snapshot" 401 "$(status "$root/snapshot.json")"
check_equal "a wrong token" 401 "$(status "$root/?token=$(echo "${address#*=}" | tr 0-9a-f 1-9a-f0)")"
check_equal "a part of a token" 401 "$(status "${address%??????}")"
check_equal "a head alone does not use the token up" 401 "$(status -I "$address")"
check_equal "a page of another host that has our address" 403 "$(status -H 'Host: evil.example' "$address")"
check_equal "another origin" 403 "$(status -H 'Origin: http://evil.example' "$address")"
check_equal "... also one with our address, and another port" 403 "$(status -H 'Origin: http://127.0.0.1:1' "$address")"
check_equal "the address works" 200 "$(status -c cookies -D head "$address")"
check "... with a cookie that scripts and other sites do not get" \
    grep -qi '^set-cookie: dpm-live-[0-9]*-[0-9a-f]\{8\}=[0-9a-f]\{32\}; Path=/; HttpOnly; SameSite=Strict' head
check "... and a policy that allows one script and one style" \
    grep -qi "^content-security-policy: default-src 'none'; script-src 'sha256-[^']*'; style-src 'sha256-[^']*'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" head
check_equal "the address works once" 401 "$(status "$address")"
has_next() {
    used=$address
    page
    [ "$address" != "$used" ]
}
check "... then there is another one" wait_for 60 has_next
check_equal "... which works" 200 "$(status "$address")"
check_equal "with the cookie the page is shown again" 200 "$(status -b cookies "$root/")"
check_equal "... but not to another origin" 403 "$(status -b cookies -H 'Origin: http://evil.example' "$root/events")"
check_equal "... nor with a wrong cookie" 401 "$(status -b "$(grep -o 'dpm-live-[0-9a-f-]*' head | head -n 1)=00000000000000000000000000000000" "$root/")"
check_equal "nothing can be written" 405 "$(status -b cookies -X POST "$root/events")"
has_last() {
    curl -s -b cookies "$root/snapshot.json" > snapshot && jq -e .time.last snapshot > /dev/null
}
check "the latest snapshot" wait_for 60 has_last

# has_event ID FILE: whether it is there, with the empty line that ends it.
has_event() {
    awk -v id="id: $1" '$0 == id { begun = 1 } begun && $0 == "" { ended = 1 } END { exit !ended }' "$2"
}
# events ID FILE OPTION...: what a reader has got when it has this event.
events() {
    id=$1
    to=$2
    shift 2
    : > "$to"
    curl -sN -m 100 -b cookies "$@" "$root/events" > "$to" &
    reader=$!
    wait_for 60 has_event "$id" "$to"
    kill $reader
    wait $reader 2> wait.err
}
ids() {
    sed -n 's/^id: //p' "$1" | tr '\n' ' '
}
latest=$(jq .time.number snapshot)
events "$latest" all
check_equal "the first event says what is looked at" '"alpha"' \
    "$(sed -n '/^event: about/{n;s/^data: //p;}' all | jq .subject)"
check_equal "a reader gets all snapshots that are kept, in their order" "$(seq -s ' ' "$latest") " "$(ids all)"
events "$latest" again -H "Last-Event-ID: $((latest - 1))"
check_equal "one that was cut off gets what came after the last one that it has" "$latest " "$(ids again)"
curl -sN -m 5 -b cookies -H "Last-Event-ID: $latest" "$root/events" > none
check_equal "... which may be nothing" "" "$(ids none)"
events "$latest" other -H "Last-Event-ID: 4000000"
check_equal "... one of an earlier server begins anew" "$(ids all)" "$(ids other)"

# A finished trace played to its end in one step is the one line of dpm stats, but for what this program itself costs.
"$dpm" stats --interval 1h --json alpha 2> /dev/null | jq -S '{time, interval} | del(.interval.reader_cpu_ns, .interval.length_ns, .time.number)' > line
jq -S '{so_far: [.interval.processes[], .interval.pairs[] | {name, from, to, so_far}] | sort}' line > wanted
sed -n 's/^data: //p' all | tail -n 1 | jq -S '{so_far: [.interval.processes[], .interval.pairs[] | {name, from, to, so_far}] | sort}' > found
check_equal "the last figures are those of dpm stats --interval --json" "$(cat wanted)" "$(cat found)"
check_equal "... with the same members" "$(jq -c '[paths | map(select(type == "string"))] | unique' line)" \
    "$(sed -n 's/^data: //p' all | tail -n 1 | jq -S '{time, interval} | del(.interval.reader_cpu_ns, .interval.length_ns, .time.number)' | jq -c '[paths | map(select(type == "string"))] | unique')"
check_equal "... messages are those of dpm stats" \
    "$("$dpm" stats --json alpha 2> /dev/null | jq -c '[.processes[].sent.messages] | sort')" "$(jq -c '[.interval.processes[].so_far.sent.messages] | sort' snapshot)"
stop
check_equal "a signal ends it in order, whoever reads" 0 $?

mkdir site
/usr/bin/python3 "$tests/live_site.py" "$build" "$PWD/site" 4
serve resumed --pace 4 --interval 100ms site/web1 site/app1 site/db1
page
curl -s -o answer -c cookies "$address"
check "a trace of several snapshots is played to its end" wait_for 60 has_last
latest=$(jq .time.number snapshot)
events "$latest" again -H "Last-Event-ID: $((latest - 3))"
check_equal "one that was cut off gets what came after the last one that it has, and no more" \
    "$((latest - 2)) $((latest - 1)) $latest " "$(ids again)"
stop

serve playback --pace 100 --no-page alpha
check "without a page: metrics" wait_for 60 curl -sf -o metrics "$url"
check_equal "... no page" 404 "$(status "${url%metrics}")"
check_not "... and no address of one" grep -q 'page of' playback.err
stop
"$dpm" live --pace 0 --port 0 alpha 2> err
check_equal "a speed below 1 is refused" 2 $?

# A page that never reads: more snapshots than the buffers of its socket hold. Others are served meanwhile.
serve unread --interval 100ms --pace 1 many
page
curl -s -o answer -c cookies "$address"
cat > unread.py << 'END'
import socket, sys, time
cookie = next(line.split() for line in open("cookies") if "dpm-live" in line)
reader = socket.socket()
reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
reader.connect(("127.0.0.1", int(sys.argv[1])))
reader.sendall(f"GET /events HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie[5]}={cookie[6]}\r\n\r\n".encode())
time.sleep(300)
END
port=${root##*:}
timeout 300 /usr/bin/python3 unread.py "$port" &
unread=$!
is_dropped() {
    curl -sf "$url" | grep -q '^dpm_live_dropped_readers_total 1$'
}
check "a page that never reads loses its connection, and is counted" wait_for 240 is_dropped
check_equal "... others are served" 200 "$(status -b cookies "$root/snapshot.json")"
kill $unread
stop

# A hundred pages, and one more.
serve crowded alpha
page
curl -s -o answer -c cookies "$address"
: > pages
for number in $(seq 100); do
    curl -sN -m 60 -b cookies "$root/events" > "page.$number" &
    echo $! >> pages
done
all_have() {
    [ "$(grep -l '"last":true' page.* 2> /dev/null | wc -l)" = 100 ]
}
check "a hundred pages get the last snapshot" wait_for 50 all_have
check_equal "... one more does not" 503 "$(status -b cookies "$root/events")"
check "... metrics are served" wait_for 60 curl -sf -o metrics "$url"
# shellcheck disable=SC2046 # one word each
kill $(cat pages)
stop

# ---- who may read from elsewhere ----

echo "a token that is long enough" > token
chmod 644 token
"$dpm" live --port 0 --token token alpha 2> err
check_equal "a token that others may read is refused" 1 $?
check "... with what to do" grep -q 'chmod 600' err
chmod 600 token
echo short > little
chmod 600 little
check_not "a short one is refused" "$dpm" live --port 0 --token little alpha
(umask 077 && head -c 256 body > long)
"$dpm" live --port 0 --token long alpha 2> err
check_equal "a long one is refused" 1 $?
check "... and not cut" grep -q 'a token is a line of 16 to 255 characters' err
mkfifo -m 600 pipe
"$dpm" live --port 0 --token pipe alpha 2> err
check_equal "a pipe is refused" 1 $?
check "... for what it is" grep -q 'the token must be in a regular file' err
"$dpm" live --port 0 --listen 0.0.0.0 alpha 2> err
check_equal "without one, nobody else may read" 2 $?
serve token --listen 0.0.0.0 --token token alpha
url=$(echo "$url" | sed 's,//[^:]*:,//127.0.0.1:,')
check "with one: it says what it means" grep -q '^dpm: listening at 0.0.0.0: all addresses of this machine; nothing is encrypted' token.err
check "... and names the machine, which 0.0.0.0 does not" grep -q "^dpm: page of alpha: http://$(uname -n):[0-9]*/?token=" token.err
check_equal "with one: who does not have it" 401 "$(status "$url")"
check "... is asked to send it" grep -qx 'Send the token: Authorization: Bearer TOKEN' answer
check_equal "... or has another" 401 "$(status -H 'Authorization: Bearer a token that is long enougH' "$url")"
check_equal "... or a part of it" 401 "$(status -H 'Authorization: Bearer a token' "$url")"
answered() {
    [ "$(status -H 'Authorization: Bearer a token that is long enough' "$url")" = 200 ]
}
check "who has it" wait_for 60 answered
page
root=$(echo "$root" | sed 's,//[^:]*:,//127.0.0.1:,')
check_equal "the page's figures: who does not have the token of the file" 401 "$(status "$root/events")"
check_equal "... and who has it" 200 "$(status -H 'Authorization: Bearer a token that is long enough' "$root/snapshot.json")"
stop
finish
