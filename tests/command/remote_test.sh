#!/bin/sh
# SPDX-License-Identifier: MIT
# remote_test.sh BUILD_FOLDER: dpm run and dpm acquire on three hosts (scripts/hosts), through ssh: one report over all of
# them, whose counts are the programs' own; a host that cannot be reached; a filter that is killed; programs that a host
# lacks; signals; and nothing that stays behind, nor a secret that others can read.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip ssh python3 jq nats-server unshare setpriv
hosts=$(realpath "$(dirname "$0")/../../scripts/hosts")
dir=$scratch/hosts

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" web1 web2 db1 > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
shared=$dir/shared
rsh="ssh -F $dir/ssh_config"
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"
sessions=$HOME/.local/state/dpm/$(hostname)/sessions

# on COMMAND...: dpm COMMAND with the options that reach the hosts. With its output in out and err; returns its status.
on() {
    subcommand=$1
    shift
    timeout 200 "$dpm" "$subcommand" --rsh "$rsh" --remote-dpm "$dpm" "$@" > out 2> err
}

run_in() {
    host=$1
    shift
    "$hosts" run "$dir" "$host" "$@"
}

# Where it does not matter what is recorded, few hooks are loaded, which takes less time.
few="--flags exec,termination --kinds pipe"

# The server answers each message with one of twice its size; each client sends as many, or more until there is the
# file of its third argument, and says how many bytes.
cat > "$shared/server.py" << 'END'
import socket, sys, threading
listener = socket.create_server(("10.77.0.1", 7000))
print("ready", flush=True)
received = []
def serve(connection):
    count = 0
    while data := connection.recv(100):
        count += len(data)
        connection.sendall(data * 2)
    received.append(count)
threads = []
for i in range(int(sys.argv[1])):
    thread = threading.Thread(target=serve, args=(listener.accept()[0],))
    thread.start()
    threads.append(thread)
for thread in threads:
    thread.join()
print("received", sum(received))
END
cat > "$shared/client.py" << 'END'
import os, socket, sys, time
for i in range(300):
    try:
        connection = socket.create_connection(("10.77.0.1", 7000))
        break
    except OSError:
        time.sleep(0.1)
messages, pause = int(sys.argv[1]), float(sys.argv[2])
sent = 0
while sent < messages or (sys.argv[3:] and not os.path.exists(sys.argv[3])):
    connection.sendall(b"x" * 40)
    sent += 1
    left = 80
    while left > 0:
        left -= len(connection.recv(left))
    time.sleep(pause)
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
print("sent", 40 * sent)
END

# ---- usage ----

# refuses STATUS TEXT ARGUMENT...: dpm ends with this status and a line with this text.
refuses() {
    status=$1
    text=$2
    shift 2
    "$dpm" "$@" > out 2> err
    check_equal "dpm $*: $text" "$status 1" "$? $(grep -c -e "$text" err)"
}
refuses 2 "only dpm run starts commands" acquire --host a:b --name x
refuses 2 "name the command for b" run --host a:x --host b
refuses 2 "every --host has a command of its own" run --host a:x y
refuses 2 "quotes are closed" run --host "a:x 'y"
refuses 2 "--store newest goes with --max-size" filter --from none --store newest
refuses 2 "--store newest goes with --max-size" filter --from none --max-age 1h
refuses 2 "at least 1M" filter --from none --store newest --max-size 1K
refuses 2 "give a time of 1s to 168h" run --alone 169h --host a true
refuses 2 "need --host" run --rsh ssh true
refuses 1 "there is no session 'none'" filter --from none

# ---- dpm's own processes ----

on acquire --host web1 --name dpm --name sshd --kinds tcp -o shells --duration 200ms
check_equal "what accepts remote shells is metered, but not the one of this session" "0 sshd" \
    "$? $("$dpm" stats --json shells/web1 2> dump.err | jq -r '.processes[] | select(.pid != null).name' | sort -u)"
on acquire --host web1 --name dpm -o refused
check_equal "the agent's own processes alone are refused" \
    "1 dpm: web1: cannot meter any of the chosen processes: they are DPM's own, which this recording needs" \
    "$? $(grep own, err)"

cp "$(realpath /usr/bin/sleep)" "$shared/resting"
run_in web2 "$shared/resting" 60 &
sleeper=$!
wait_for 30 run_in web2 pgrep -x resting
on acquire --host web1,web2 --name resting --flags send -o one-has --duration 1s
check_equal "a host without such a process is reported, and is no loss" "0 1 1" \
    "$? $(grep -c '^dpm: web1: no process is named resting$' err) $(grep -c 'records of 1 host, 0 lost, in one-has$' err)"
run_in web2 pkill -x resting
wait $sleeper 2> wait.err
on acquire --host web1,web2 --name resting --flags send -o none-has --duration 1s
check_equal "... unless it is so on all hosts" "1 2" "$? $(grep -c 'no process is named resting$' err)"

# ---- dpm run ----

watched on run -o run --kinds tcp --host web1:"python3 $shared/server.py 2" --host web2,db1 \
    python3 "$shared/client.py" 200 0.001 < /dev/null
check_equal "three programs on three hosts end in order" 0 $?
check_equal "their output comes line by line, labelled" "db1: sent 8000
web1: ready
web1: received 16000
web2: sent 8000" "$(LC_ALL=C sort out)"
check "one report covers all of them" grep -q '^3 traces, machines .*web1' err
check "... and says where the traces are" grep -q '^dpm: [0-9]* records of 3 hosts, 0 lost, in run$' err
"$dpm" dump --json --matched run/web1 run/web2 run/db1 > dump.json 2> dump.err
check_equal "the bytes are the programs' own: sent by the clients, received by the server" "16000 16000" \
    "$(jq -rs '[(map(select(.event == "SEND" and .trace != "web1" and .bytes == 40).bytes) | add),
        (map(select(.event == "RECEIVE" and .bytes > 0 and (.edges | length) > 0 and .edges[0].bytes == 40).bytes) | add)] |
        map(tostring) | join(" ")' dump.json)"
"$dpm" stats --json run/web1 run/web2 run/db1 > stats.json 2> stats.err
check "... every receive is matched exactly" jq -e '.trace.matching |
    .exact >= 800 and .unmatched_sends == 0 and .unmatched_receives == 0 and .external == 0' stats.json
check "... and nothing was lost" jq -e '.trace.lost == 0' stats.json

echo input | on run -o input $few --host web1:"sh -c 'cat; : > $shared/first; exit 3'" \
    --host web2:"sh -c 'cat; echo end; until [ -e $shared/first ]; do sleep 0.1; done; sleep 3; exit 5'"
check_equal "the exit status is that of the first that failed" 3 $?
check_equal "standard input is the first one's" "web1: input
web2: end" "$(LC_ALL=C sort out)"
on run -o together --meter ptrace --host web1:"python3 $shared/server.py 2" --host web1:"python3 $shared/client.py 100 0" \
    --host web1:"python3 $shared/client.py 50 0" < /dev/null
check_equal "three commands of one host under the ptrace meter" "web1[1]: ready
web1[1]: received 6000
web1[2]: sent 4000
web1[3]: sent 2000" "$(LC_ALL=C sort out)"
"$dpm" stats --json together/web1 > stats.json 2> stats.err
check_equal "... are in one trace, with all that they sent each other, matched exactly" \
    '[[2000,4000,4000,8000],0,0,true]' \
    "$(jq -c '[([.pairs[] | select(.bytes >= 2000).bytes] | sort),
        .trace.matching.unmatched_sends, .trace.matching.unmatched_receives, .trace.matching.exact >= 300]' stats.json)"
on run -o ends --meter ptrace --host web1:'sh -c "exit 3"' --host web1:'sleep 0.3' < /dev/null
check_equal "... when the first one fails, the exit status is its own" 3 $?
check_equal "... and the others run on" '["sh",768]["sleep",0]' \
    "$("$dpm" dump --json --type termination ends/web1 2> dump.err | jq -c '[.name, .status]' | tr -d '\n')"
on run -o two --host dpmtest@web1:'echo one' --host web2:'echo two' --host web2:'echo three' < /dev/null
check_equal "without privilege the ptrace meter is taken; two processes of a host have numbers" "dpmtest@web1: one
web2[1]: two
web2[2]: three" "$(LC_ALL=C sort out)"
check "... and says so" grep -q '^dpm: dpmtest@web1: metering with ptrace' err
on run -o three --host dpmtest@web1,dpmtest@web2,dpmtest@db1 true < /dev/null
check_equal "what all hosts note is said once" "dpm: all 3 hosts: metering with ptrace" \
    "$(grep -o '.*metering with ptrace' err)"
printf 'raw\nbytes' | on run -o raw $few --host web1 cat
check_equal "one process alone writes as it is" "$(printf 'raw\nbytes')" "$(cat out)"

"$dpm" why --json run > why.json 2> why.err
check "the account of all machines has few unknown times" jq -e ".spent_on_ns.unknown <= 0.1 * .elapsed_ns + $stalled" why.json
"$dpm" why run > why.txt 2> why.err
check "... and ends with the last command of all" grep -q '^.* passed from the first event of all to the last of ' why.txt
"$dpm" stats run > stats.txt 2> stats.err
check_not "... without connections of dpm's own" grep -q '127.0.0.1:.*127.0.0.1:' stats.txt

# ---- programs that are missing there ----

mkdir own
cp "$(realpath /usr/bin/true)" own/own-program
on run -o copied $few --host web1,web2 own/own-program < /dev/null
check_equal "a program that the hosts lack is copied" "0 2" "$? $(grep -c 'is not there: it runs a copy' err)"
check_equal "... once to each, under its hash" 2 \
    "$(find "$dir"/hosts/web?/home/root/.cache/dpm/web?/programs -type f | wc -l)"
on run -o missing --host web1:true --host web2:no-such-program < /dev/null
check_equal "one that is nowhere is an error, and nothing is started" \
    "127 dpm: web2: there is no program 'no-such-program'" "$? $(grep -v 'UDP is metered only' err)"
check_not "... and nothing is left" test -e missing

# ---- dpm acquire, a host that cannot be reached, a filter that is killed, secrets ----

run_in web1 python3 "$shared/server.py" 2 > server.out &
wait_for 30 grep -q ready server.out
run_in web2 python3 "$shared/client.py" 1000 0.004 "$shared/enough" > client2.out &
run_in db1 python3 "$shared/client.py" 1000 0.004 "$shared/enough" > client3.out &

# shellcheck disable=SC2317 # called by wait_for
clients_run() {
    [ "$(pgrep -cf "^python3 $shared/client.py 1000")" = 2 ]
}
wait_for 30 clients_run

on acquire -o all --session seen --host web1,nowhere,web2,db1 --name server.py --name client.py --kinds tcp &
acquire=$!
wait_for 30 grep -q '^dpm: metering 3 processes on 3 hosts; session seen' err
check_equal "a host that cannot be reached is reported in one line" 1 "$(grep -c nowhere err)"
jq -r '.users[]' "$sessions/seen/session.json" > secrets
check "the session has secrets" test -s secrets
cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> visible.err | tr '\0' '\n' > visible
check_not "... none is in an argument or the environment of a process" grep -qFf secrets visible
check_equal "... nor in a file that others can read" "" "$(find "$sessions" -type f -perm /077; find "$sessions" -maxdepth 0 -perm /077)"

"$dpm" filter --from seen -o other > filter.out 2>&1 &
filter=$!
wait_for 30 test -s other/web1/data
kill -9 $filter
wait $filter 2> wait.err
check "a filter of its own stores the packets, and is killed" test -s other/web1/metadata
"$dpm" filter --from seen -o other > filter2.out 2>&1 &
filter=$!
"$dpm" filter --from seen -o one --machine web2 --machine nobody > filter3.out 2>&1 &
filter3=$!
url=nats://127.0.0.1:$(jq .port "$sessions/seen/session.json")
(umask 077 && jq -r '"filter:" + .users.filter' "$sessions/seen/session.json" > credentials)
"$dpm" filter --from seen -o by-url --fabric "$url" --credentials credentials > filter4.out 2>&1 &
filter4=$!
# another one hands what it stores to a program, one runs on another host, one fails there, and one gets other rules
echo 'type=send;' > changing.rules
"$dpm" filter --from seen -o fed --machine web2 --filter "'$dpm' filter --to-json | jq -c 'select(.event == \"SEND\")' > fed.json" > fed.out 2>&1 &
fed=$!
timeout 100 "$dpm" filter --from seen --host db1 --rsh "$rsh" --remote-dpm "$dpm" -o "$shared/there" > there.out 2>&1 &
there=$!
"$dpm" filter --from seen -o changed --machine web2 -r changing.rules > changed.out 2>&1 &
changed=$!
refuses 1 "db1: the filter there failed: .*$shared/client.py/x.*: Not a directory" filter --from seen --host db1 --rsh "$rsh" --remote-dpm "$dpm" \
    -o "$shared/client.py/x"
wait_for 30 test -s changed/web2/data
echo 'type=send, bytes>1G;' > changing.rules.new
mv changing.rules.new changing.rules
check "rules that change are in force in a filter that runs" \
    wait_for 30 grep -qx 'dpm: rules: changing.rules has changed, and is in force from now on' changed.out
wait_for 30 grep -q 'filtering session seen' there.out
echo filter:wrong > wrong
refuses 1 "refuses the credentials of user filter" filter --from seen --fabric "$url" --credentials wrong
jq -r '"controller:" + .users.controller' "$sessions/seen/session.json" > wrong
refuses 1 "there is no session 'none' at" filter --from none --fabric "$url" --credentials wrong

: > "$shared/enough" # so whoever is slow here, the clients ran meanwhile
wait $acquire
check_equal "a host that cannot be reached does not spoil the others" 0 $?
wait $filter
check_equal "the filter goes on where it was, and ends with the session" 0 $?
wait $filter3
check_equal "... and so does one for one machine" "0 web2" "$? $(ls one)"
wait $filter4
check_equal "... and one that knows only the server's address and credentials" 0 $?
for host in web1 web2 db1; do
    check "... whose copy of $host is the same, too" cmp "all/$host/data" "by-url/$host/data"
    check "the filter's copy of $host is the controller's: nothing lost or doubled" \
        cmp "all/$host/control" "other/$host/control"
    check "... and its data" cmp "all/$host/data" "other/$host/data"
done
check "... and of one machine" cmp all/web2/data one/web2/data
wait $there
check_equal "a filter on another host ends with the session" 0 $?
check "... and has stored the same there" cmp all/web1/data "$shared/there/web1/data"
wait $fed
check_equal "a custom filter of a session took everything" "0 1" "$? $(grep -c '^dpm: the filter took [0-9]* packets' fed.out)"
check_equal "... and has each message" "$("$dpm" dump --json --type send all/web2 2> err | jq -r .bytes | sort -n | uniq -c)" \
    "$(jq -r .bytes fed.json | sort -n | uniq -c)"
wait $changed
check_equal "the filter whose rules have changed ends with the session" 0 $?
# the second FLAGS has the time of the last record that the former rules judged
"$dpm" dump --json changed/web2 2> err | jq -s -r 'map(select(.event == "FLAGS" or .event == "SEND")) |
    .[0].event, (.[1:] | sort_by(.time_ns, .event == "FLAGS") | .[].event)' | uniq > order
check_equal "... its trace has both, and what each selects" "FLAGS SEND FLAGS" "$(xargs < order)"
check_equal "the server has received what the clients have sent" "$(cat client2.out client3.out | awk '/^sent/ { sum += $2 }
    END { print "received", sum }')" "$(grep received server.out)"
"$dpm" stats --json all/web1 all/web2 all/db1 > stats.json 2> stats.err
check "what was recorded is matched exactly" jq -e '.trace.matching | .exact > 1000 and .unmatched_receives == 0' stats.json

# ---- a connection that breaks ----

# lines FILE: a numbered line each half second until there is the file, at most 200.
cat > "$shared/lines.sh" << 'END'
i=0
while [ ! -e "$1" ] && [ $i -lt 200 ]; do i=$((i + 1)); echo "line $i"; sleep 0.5; done
END
on run -o again --session again --interval 1s --host web1:"sh $shared/lines.sh $shared/back" \
    --host web2:"sh $shared/lines.sh $shared/back" < /dev/null &
run=$!
wait_for 30 grep -q '^web1: line 2' out
kill -9 "$(pgrep -f "^ssh -F $dir/ssh_config .* web1 $dpm agent")"
wait_for 30 grep -q '^dpm: web1: connected again' err
kill -9 "$(pgrep -f "nats-server .*$sessions/again")"
wait_for 60 grep -q '^dpm: web2: connected again' err
touch "$shared/back"
wait $run
check_equal "a connection that breaks, and a server that is killed, end nothing" 0 $?
check "... it is reported" grep -q '^dpm: web1: .*trying again' err
check "... it comes back" grep -q '^dpm: web1: connected again' err
check "... also when it was the server" grep -q '^dpm: web2: connected again' err
for host in web1 web2; do
    sed -n "s/^$host: line //p" out > lines
    check_equal "... no output of $host is missing" "$(seq "$(tail -n 1 lines)")" "$(cat lines)"
done
check "... no record is missing" grep -q ' 0 lost, in again$' err
check "interval reports cover both hosts" grep -q '^2 traces, machines .* so far' err

# ---- an agent that is killed; all processes of a host ----

on acquire -o killed --host web1,web2 --all --duration 10s &
acquirer=$!
wait_for 30 grep -q '^dpm: metering' err
run_in web1 pkill -9 -x dpm-agent
wait $acquirer
check_equal "an agent that is killed makes the recording fail" 1 $?
check "... and the last line says of its host from when on records are missing" \
    grep -qE 'records of 2 hosts, lost: unknown on web1 since ([0-9-]{10} )?[0-9:]{8} by its clock \(web1 was cut\)(, besides [0-9]+ that were counted)?, in killed$' err
check_not "... and of none that it has lost nothing" grep -q ' 0 lost, in killed' err
since=$(sed -n 's/.*on web1 since \([-0-9: ]*[0-9]\) .*/\1/p' err)
case $since in
*-*) ;;
*) since="$(date -r err +%F) $since" ;; # of the day on which it was printed
esac
"$dpm" dump --json killed/web1 2> dump.err | jq -r .time | sort > all-times
check_equal "... a time up to which records are stored" "in order" \
    "$({ date -d "$(head -n 1 all-times)" +%s && date -d "$since" +%s && date -d "$(tail -n 1 all-times)" +%s; } |
        sort -nc 2>&1 && echo in order)"
tail -n 3 err | sed 's/^/# /'
"$dpm" stats killed/web2 > out 2> dump.err
check "--all meters the host's other processes" grep -q '^sshd' out
check_not "... not those of its own connection" grep -qE 'sshd: root|dpm agent' out
check_not "... and says of no kind that some is missing" grep -q 'metered only for a time, or for some' out

# ---- signals ----

: > out
timeout 200 "$dpm" run --rsh "$rsh" --remote-dpm "$dpm" -o signal $few --host web2:'sh -c "trap \"\" INT; echo ready; sleep 1"' \
    --host web1:'sh -c "trap \"echo caught; exit 7\" INT; echo ready; while :; do sleep 0.1; done"' > out 2> err < /dev/null &
run=$!
for host in web1 web2; do # so both have set their traps
    wait_for 30 grep -q "^$host: ready" out
done
pkill -INT -P $run dpm
wait $run
check_equal "a signal is passed on to the processes" "7 web1: caught" "$? $(grep caught out)"

# ---- nothing stays ----

# shellcheck disable=SC2317 # called by wait_for
no_agents() {
    ! run_in web1 pgrep -f "dpm agent" && ! run_in web2 pgrep -f "dpm agent" && ! run_in db1 pgrep -f "dpm agent"
}
check "no agent is left" wait_for 30 no_agents
check_equal "no session is left" "" "$(ls "$sessions")"
check_equal "without --host there is no session" "" "$("$dpm" run -o here $few -- ls "$sessions" 2> err)"
finish
