#!/bin/sh
# SPDX-License-Identifier: MIT
# controller_hosts_test.sh BUILD_FOLDER: the controller on three hosts (scripts/hosts), through ssh: a session of the paper's
# kind by script and on a terminal, whose counts are the programs' own; every command, state and refusal; 200 processes in
# one job; and controllers that are killed at any moment.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip ssh python3 jq nats-server unshare setpriv
tests=$(realpath "$(dirname "$0")")
hosts=$(realpath "$tests/../../scripts/hosts")
dir=$scratch/hosts
chmod 755 "$scratch"

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    for environment in $(grep -lsza "^HOME=$scratch/home" /proc/[0-9]*/environ); do
        pid=${environment#/proc/}
        kill "${pid%/environ}"
    done 2> /dev/null
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" red green blue > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
export HOME="$scratch/home" XDG_STATE_HOME='' XDG_CONFIG_HOME=''
mkdir -p "$HOME/.config/dpm"
printf 'workers: red green\nall: workers blue\n' > "$HOME/.config/dpm/machines"
own=$(hostname)
first=red
second=green
shared=$dir/shared
cat > rsh << END
#!/bin/sh
case " \$* " in
*" away "*) echo "no route to away" >&2; exit 255 ;;
esac
exec ssh -F $dir/ssh_config "\$@"
END
chmod +x rsh

# A filter named f1 on blue, a job of two processes on red and green: each message is answered with one of twice its size.
cat > "$shared/server.py" << 'END'
import socket
listener = socket.create_server(("10.77.0.1", 7000))
print("ready", flush=True)
connection = listener.accept()[0]
messages = size = 0
while data := connection.recv(40, socket.MSG_WAITALL):
    messages += 1
    size += len(data)
    connection.sendall(data * 2)
print("received", messages, size)
END
cat > "$shared/client.py" << 'END'
import socket, sys, time
while True:
    try:
        connection = socket.create_connection(("10.77.0.1", 7000))
        break
    except OSError:
        time.sleep(0.05)
for i in range(int(sys.argv[1])):
    connection.sendall(b"x" * 40)
    connection.recv(80, socket.MSG_WAITALL)
print("sent", sys.argv[1])
END

# session NAME SCRIPT: dpm -f, with its output in out and err; returns its status.
session() {
    timeout 300 "$dpm" -f "$2" --rsh ./rsh --remote-dpm "$dpm" --session "$1" > out 2> err
}
script() {
    session scripted "$1"
}

# check_messages TRACES: what the programs say is what was recorded.
check_messages() {
    # shellcheck disable=SC2086 # one word for each
    "$dpm" stats --json $1 > stats.json 2> stats.err
    check_equal "... the bytes from green to red, and back, are the programs' own" "200 8000 200 16000" "$(jq -r '
        (.processes | map({key: "\(.id)", value: .machine}) | from_entries) as $on |
        [.pairs[] | select(.to != null) | {from: $on["\(.from)"], to: $on["\(.to)"], messages, bytes}] |
        (map(select(.from == "green" and .to == "red")) | [(map(.messages) | add), (map(.bytes) | add)]) +
        (map(select(.from == "red" and .to == "green")) | [(map(.messages) | add), (map(.bytes) | add)]) |
        map(tostring) | join(" ")' stats.json)"
    check "... every receive is matched exactly, and nothing was lost" jq -e \
        '.trace.lost == 0 and .trace.matching.exact == 400 and .trace.matching.unmatched_receives == 0' stats.json
}

# ---- the paper's session ----

cat > paper << END
filter f1 blue
newjob foo f1
addprocess foo red python3 $shared/server.py
addprocess foo green python3 $shared/client.py 200
setflags foo send receive fork accept connect
jobs foo
startjob foo
wait foo
jobs foo
sink sunk.json
stats foo --json
sink
removejob foo
getlog f1 paper.log
bye
END
session paper paper
check_equal "the paper's session: a filter and two processes on three machines" 0 $?
for line in 'filter f1 created: process [0-9]*, stores in blue:' 'job foo created: number 1, filter f1$' \
    'process python3 created on red: number [0-9]*$' 'process python3.2 created on green: number [0-9]*$' \
    'flags of job foo: send,receive,connect,accept,' 'python3@red: flags set$' \
    '[0-9]* *new *python3.2 *green *send,receive,' 'python3.2@green: started$' 'python3@red: ready$' \
    'python3.2@green: sent 200$' 'python3@red: received 200 8000$' 'python3@red of job foo ended: exit status 0$' \
    '[0-9]* *killed *python3.2 *green *send,receive,' 'python3.2@green: removed$' 'job foo removed$' \
    'log of filter f1 copied to paper.log$'; do
    check "... $line" grep -q "^$line" out
done
check "... an analysis by the job's name, from the filter's machine" jq -e '.trace.matching.exact == 400' sunk.json
check_equal "... the log has both machines" "green.foo red.foo" "$(cd paper.log && echo *)"
check_messages "paper.log/red.foo paper.log/green.foo"
left() {
    find "$HOME/.local/state/dpm/$(hostname)/sessions" "$dir"/hosts/*/root/.local/state/dpm/*/agents -mindepth 1 2> find.err
}
nothing_left() {
    [ -z "$(left)" ]
}
wait_for 30 nothing_left # agents remove their folders after the controller has ended
check_equal "... nothing but the log stays" "" "$(left)"

PYTHONPATH=$tests timeout 300 python3 "$tests/controller_hosts.py" "$dpm" "$shared" > typed 2>&1
check_equal "the same on a terminal, with ^D" "" "$(cat typed)"
check_messages "typed.log/red.foo typed.log/green.foo"

# ---- a filter on another machine that is killed ----

elsewhere() {
    timeout 120 "$dpm" job --rsh ./rsh --remote-dpm "$dpm" --session elsewhere "$@" > out 2> err < /dev/null
}
cat > "$shared/writer.sh" << 'END'
#!/bin/sh
i=0
while [ $i -lt 200 ]; do
    i=$((i + 1))
    echo a line
    sleep 0.01
done
END
chmod +x "$shared/writer.sh"
elsewhere filter f1 blue && elsewhere newjob foo f1 && elsewhere setflags foo all && elsewhere add foo red "$shared/writer.sh" &&
    elsewhere startjob foo
check_equal "a job with a filter on another machine starts" 0 $?
"$hosts" run "$dir" blue pkill -9 -f 'filter --relayed'
check_equal "... which is killed there" 0 $?
elsewhere wait foo && elsewhere removejob foo && elsewhere getlog f1 elsewhere.log
check_equal "... another one goes on in its place" 0 $?
"$dpm" stats --json elsewhere.log/red.foo > stats.json 2> stats.err
check_equal "... and nothing is lost" "0 0" "$(jq .trace.lost stats.json) $(grep -c -e cut -e lost stats.err)"
"$dpm" dump --json elsewhere.log/red.foo > dump.json 2> dump.err
check_equal "... each line of the program is recorded once" 200 \
    "$(jq -c 'select(.event == "SEND" and .name == "writer.sh" and .bytes == 7)' dump.json | wc -l)"
elsewhere die

# ---- every command, every state ----

"$hosts" run "$dir" red sh -c "sleep 1000 & echo \$!" > acquired.pid < /dev/null
acquired=$(cat acquired.pid)
. "$tests/controller_commands.sh"
check "... and lives" "$hosts" run "$dir" red kill -0 "$acquired"
nothing_on_hosts() {
    [ -z "$(find "$dir"/hosts/*/root/.local/state/dpm/*/agents -mindepth 1 2> find.err)" ]
}
wait_for 30 nothing_on_hosts
check_equal "... nothing stays on the hosts" "" "$(find "$dir"/hosts/*/root/.local/state/dpm/*/agents -mindepth 1 2> find.err)"

# ---- 200 processes ----

# timed NAME COMMAND...: a command of the session `many`; says how long it takes
timed() {
    timed_name=$1
    shift
    begin=$(date +%s%N)
    timeout 120 "$dpm" job --rsh ./rsh --remote-dpm "$dpm" --session many "$@" > out 2> err < /dev/null
    timed_status=$?
    echo "# $timed_name: $((($(date +%s%N) - begin) / 1000000)) ms"
    check_equal "200 processes: $timed_name" 0 "$timed_status"
}

# Each writes a line when it has read one, and once more.
cat > "$shared/talker.sh" << 'END'
#!/bin/sh
read -r x
echo first
read -r x
echo second
END
chmod +x "$shared/talker.sh"
{
    for _ in $(seq 66); do
        echo "add many all $shared/talker.sh"
    done
    echo "add many workers $shared/talker.sh"
} > ./more
begin=$(date +%s%N)
timeout 300 "$dpm" job --rsh ./rsh --remote-dpm "$dpm" --session many newjob many > out 2> err
timeout 300 "$dpm" job --rsh ./rsh --remote-dpm "$dpm" --session many source more > out 2> err < /dev/null
check_equal "200 processes are created on three hosts" "0 200" "$? $(grep -c '^process talker.sh.* created on' out)"
echo "# creating: $((($(date +%s%N) - begin) / 1000000)) ms"
timed jobs jobs many
check_equal "... all are new, without flags" 200 "$(grep -c '^[0-9]* *new *talker.sh.* none$' out)"
timed setflags setflags many send fork
check_equal "... each is reported" 200 "$(grep -c '^talker.sh.*: flags set$' out)"
timed startjob startjob many
check_equal "... each is started" 200 "$(grep -c '^talker.sh.*: started$' out)"
timed stopjob stopjob many
check_equal "... and stopped" 200 "$(grep -c '^talker.sh.*: stopped$' out)"
timed "startjob again" startjob many
check_equal "... and continues" 200 "$(grep -c '^talker.sh.*: continues$' out)"
for nth in $(seq 200); do
    echo "input many talker.sh$([ "$nth" = 1 ] || echo ".$nth") x"
done > inputs
# all_wrote WORD: each process has written this line; it comes with this command or a later one.
all_wrote() {
    : > written
    for try in $(seq 20); do
        grep "^talker.sh.*@.*: $1\$" out >> written
        [ "$(sort -u written | wc -l)" -lt 200 ] || break
        timed "jobs ($try)" jobs many
    done
    check_equal "... and each writes: $1" 200 "$(sort -u written | wc -l)"
}
timed "input to each" source inputs
all_wrote first
timed "setflags while they run" setflags many -send receive
timed "input to each again" source inputs
all_wrote second
timed wait wait many
timed removejob removejob many
timed getlog getlog default many.log
"$dpm" dump --json many.log/*.many > dump.json 2> dump.err
# of EVENT BYTES: in how many processes
of() {
    jq -r "select(.event == \"$1\" and .name == \"talker.sh\" and ($2)) | \"\(.machine) \(.pid)\"" dump.json | sort -u | wc -l
}
check_equal "... with send, each process' first line is a SEND" 200 "$(of SEND '.bytes == 6')"
check_equal "... without it, no process' second line is one" 0 "$(of SEND '.bytes == 7')"
check_equal "... with receive, each process' second reading is recorded" 200 "$(of RECEIVE '.bytes > 0')"
check_equal "... and with fork its end" 200 "$(of TERMINATION true)"
timed die die

# ---- controllers that are killed at any moment ----

seed=${DPM_SEED:-$(date +%s)}
echo "# DPM_SEED=$seed"
mkdir killed
check_equal "controllers are killed at any moment, and others go on (DPM_SEED=$seed)" "" \
    "$(cd killed && timeout 500 python3 "$tests/controller_killed.py" "$dpm" 30 "$seed" 2>&1)"

finish
