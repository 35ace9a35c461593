#!/bin/sh
# SPDX-License-Identifier: MIT
# service_test.sh BUILD_FOLDER: dpm agent --service measures this machine: records and summaries stay here, and summaries go
# to a NATS server, where dpm filter takes them; also when that server comes later.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs nats-server jq python3
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
service='' server='' filter=''
# shellcheck disable=SC2086 # one word for each
trap 'kill $service $server $filter 2> kill.err; rm -rf "$scratch"' EXIT
port=$(free_port)
(umask 077 && echo user:secret > secret)
cat > config.json << END
{ "records": "$scratch/records", "kinds": "unix", "max_size": "1G", "interval": "1s", "keep": 2,
  "fabric": "nats://127.0.0.1:$port", "credentials": "$scratch/secret" }
END

# refuses TEXT CONFIGURATION
refuses() {
    echo "$2" > wrong.json
    "$dpm" agent --service --config wrong.json > out 2> err
    check_equal "refused: $2" "1 1" "$? $(grep -c "$1" err)"
}
refuses 'max_size: "few"' '{ "max_size": "few" }'
refuses "wrong.json:1: " '{ "max_size" }'
refuses "go together" '{ "fabric": "nats://a" }'
refuses "intervall" '{ "intervall": "1s" }'

mkdir -m 700 records records/machine-0000000001-1 records/machine-4000000000-1
"$dpm" agent --service --config config.json > service.out 2>&1 &
service=$!
check "it begins without the server" wait_for 60 grep -q '^dpm: measuring [0-9]* processes of this machine into ' service.out
check_equal "traces of earlier runs are removed, but for the newest; this one is newer, although the clock is behind" \
    "machine-4000000000 machine-4000000001" "$(cd records && printf '%s\n' machine-* | sed 's/-[0-9]*$//' | xargs)"
# More bytes than others of this machine send in a second: a summary that is too long for a message has the first 100 rows.
cat > talk.py << 'END'
import socket
a, b = socket.socketpair()
for i in range(1000):
    a.sendall(b"x" * 50000)
    b.recv(50000, socket.MSG_WAITALL)
END
python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(15, b"talker"); exec(open("talk.py").read()); time.sleep(30)' &
talker=$!
# shellcheck disable=SC2317 # called by wait_for
summary_has() {
    jq -es 'map(.statistics | tostring | contains("talker")) | any' "$1" > has.out 2> has.err
}
check "a summary has a process that started later" wait_for 60 summary_has records/summaries.jsonl
kill $talker
check "... the server is missed" wait_for 30 grep -q 'no server answers' service.out
kill $service
wait $service
check_equal "without the server, a signal ends it in order, too" 0 $?
check "... it says where summaries wait" grep -Eq '^dpm: the server could not be reached: [0-9]+ summar(y waits|ies wait) in .*/records/unsent.json for the next start$' service.out
: > service.out
"$dpm" agent --service --config config.json > service.out 2>&1 &
service=$!
check "started again, it misses the server" wait_for 60 grep -q 'no server answers' service.out
check "... and keeps what waits in the file until the server has it" test -e records/unsent.json
printf 'host: 127.0.0.1\nport: %s\njetstream { store_dir: "%s/store" }\nauthorization { user: user, password: secret }\n' \
    "$port" "$scratch" > nats.conf
nats-server -c nats.conf > nats.out 2>&1 &
server=$!
check "the service finds the server" wait_for 60 grep -q 'summaries can be sent again' service.out
timeout 100 "$dpm" filter --from machines --fabric "nats://127.0.0.1:$port" --credentials secret -o central > filter.out 2>&1 &
filter=$!
machine=$(hostname | tr 'A-Z' 'a-z' | tr -c 'a-z0-9\n' '-')
check "summaries come to a filter, those of before, too" wait_for 60 summary_has "central/$machine.summaries.jsonl"
kill $filter
kill $server
wait $server
rm -rf store
nats-server -c nats.conf > nats.out 2>&1 &
server=$!
# shellcheck disable=SC2317 # called by wait_for
comes_again() {
    timeout 5 "$dpm" filter --from machines --fabric "nats://127.0.0.1:$port" --credentials secret -o again > again.out 2>&1
    test -s "again/$machine.summaries.jsonl"
}
check "streams that the server has lost are made again" wait_for 60 comes_again
kill $service
wait $service
check_equal "a signal ends the service in order" 0 $?
service=
check "... and nothing waits any more" test ! -e records/unsent.json
trace=$(jq -rs 'map(select(.statistics | tostring | contains("talker")))[-1].trace' records/summaries.jsonl)
"$dpm" stats --json "$trace" > stats.json 2> stats.err
check "what was recorded is here, and has that process" grep -q talker stats.json
finish
