#!/bin/sh
# SPDX-License-Identifier: MIT
# live_test.sh BUILD_FOLDER: `dpm live` of traces: who may read, what the metrics say, labels that stay few, readers that are
# slow; and snapshots of generated traces against `dpm stats`. prometheus_test.sh has the real reader.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
. "$tests/sample.sh"
need_programs curl jq

# serve NAME OPTION...: starts dpm live; sets `live` and `url`.
serve() {
    name=$1
    shift
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

check_equal "another path" 404 "$(status "${url%metrics}")"
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
url=$(echo "$url" | sed 's/0\.0\.0\.0/127.0.0.1/')
check_equal "with one: who does not have it" 401 "$(status "$url")"
check "... is asked to send it" grep -qx 'Send the token: Authorization: Bearer TOKEN' answer
check_equal "... or has another" 401 "$(status -H 'Authorization: Bearer a token that is long enougH' "$url")"
check_equal "... or a part of it" 401 "$(status -H 'Authorization: Bearer a token' "$url")"
answered() {
    [ "$(status -H 'Authorization: Bearer a token that is long enough' "$url")" = 200 ]
}
check "who has it" wait_for 60 answered
stop
finish
