#!/bin/sh
# SPDX-License-Identifier: MIT
# several_hosts_test.sh BUILD_FOLDER: three hosts made by scripts/hosts: what each has of its own; delays between them;
# each meters only its own processes, and all of these, as their own counts prove; the traces of all are one computation.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip unshare nsenter ssh sshd ping python3
hosts=$(realpath "$(dirname "$0")/../../scripts/hosts")
talk=$(realpath "$(dirname "$0")/talk.py")
DPM_LINK=$1/tests/programs/link
export DPM_LINK
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
set_of=$scratch/set
trap '"$hosts" down "$set_of"; rm -rf "$scratch"' EXIT
names="web1 web2 db1"

# on HOST COMMAND...: runs it there.
on() {
    "$hosts" run "$set_of" "$@"
}

# ---- each has its own ----

mkdir home
ip addr > network.before
# shellcheck disable=SC2086 # one word for each
HOME=$scratch/home "$hosts" up --owner $$ "$set_of" $names > up.out 2> up.err ||
    skip_all "no hosts can be made here: $(cat up.err)"
"$hosts" list "$set_of" > list
inits=$(cut -d ' ' -f 4 list)
check_equal "three hosts with an address and a machine id of their own" "3 3 3" \
    "$(wc -l < list) $(cut -d ' ' -f 2 list | sort -u | wc -l) $(cut -d ' ' -f 3 list | grep -xE '[0-9a-f]{32}' | sort -u | wc -l)"
for name in $names; do
    check_equal "$name is reached by ssh, and has its own name and machine id" \
        "$name $(awk -v name=$name '$1 == name { print $3 }' list) root" \
        "$(HOME=$scratch/home ssh -F set/ssh_config $name 'echo $(hostname) $(cat /etc/machine-id) $(id -un)')"
done
check_equal "... as an ordinary user, in a home folder of its own" "dpmtest yes" \
    "$(ssh -F set/ssh_config dpmtest@web2 'touch ~/mine && echo $(id -un) $(test -O ~/mine && echo yes)')"
check_equal "... and without ssh" "dpmtest web2" "$(on --user dpmtest web2 2> err; "$hosts" run --user dpmtest "$set_of" web2 \
    sh -c 'echo $(id -un) $(hostname)')"
check_equal "from one host to another by its name" web2 "$(on db1 ssh web2 hostname)"
check_equal "the exit status of a command is that of the run" 7 "$(on web1 sh -c 'exit 7'; echo $?)"
check_equal "process 1 of a host is its own" "1" "$(on web1 sh -c 'ls /proc | grep -x 1; test -e /proc/'$$' && echo outside')"
on web1 touch /tmp/only-here /run/only-here
check_equal "/tmp and /run are its own" "" \
    "$(on web2 sh -c "ls /tmp/only-here /run/only-here" 2> err; ls /tmp/only-here /run/only-here 2> err)"
check_equal "what has lost its parent is reaped" 0 \
    "$(on web1 sh -c '(sleep 0.1 & exec sleep 0.05) & sleep 0.5; ps ax' | grep -c defunct)"
check_equal "nothing is left in the caller's home folder" "" "$(ls -A home)"
ip addr > network.during
check_equal "the network of the machine stays as it is" "$(cat network.before)" "$(cat network.during)"
for command in list ssh "run web1 true" "delay web1 web2 1ms" "unplug web1"; do
    # shellcheck disable=SC2046,SC2086 # one word for each
    check_not "where no hosts are, '$command' is refused" "$hosts" ${command%% *} "$scratch/none" \
        $(echo "$command " | cut -s -d ' ' -f 2-)
done
check_not "... and a host that is not there" on web9 true
check_not "a second set is refused in the same folder" "$hosts" up "$set_of" web9
check "... and has not harmed the first one" on web1 true

# ---- delays ----

# fastest FROM TO: the shortest of some round trips, in us; nothing if no answer comes.
fastest() {
    on "$1" ping -c 10 -i 0.05 -W 1 "$2" | sed -n 's|^rtt [^=]*= \([0-9]*\)\.\([0-9]*\)/.*|\1\2|p'
}
check "25 ms each way" "$hosts" delay "$set_of" web1 web2 25ms
round_trip=$(fastest web1 web2)
check "... a round trip takes 50 ms (it took $round_trip us)" test "$round_trip" -ge 50000 -a "$round_trip" -lt 75000
round_trip=$(fastest web2 web1)
check "... from the other side, too ($round_trip us)" test "$round_trip" -ge 50000 -a "$round_trip" -lt 75000
other=$(fastest web1 db1)
check "... and the third host is as near as before ($other us)" test "$other" -lt 25000
cat > transfer.py << 'END'
import hashlib, os, socket, sys, time
if sys.argv[1] == "take":
    listener = socket.create_server(("", 7300))
    print("ready", flush=True)
    end, _ = listener.accept()
    digest = hashlib.sha256()
    while data := end.recv(65536):
        digest.update(data)
    print(digest.hexdigest())
    end.send(b"ok")
else:
    data = os.urandom(int(sys.argv[3]))
    began = time.monotonic()
    with socket.create_connection((sys.argv[2], 7300)) as end:
        end.sendall(data)
        end.shutdown(socket.SHUT_WR)
        end.recv(2)
    print(hashlib.sha256(data).hexdigest(), int(1000 * (time.monotonic() - began)))
END
cp transfer.py "$talk" set/shared

# transfer FROM TO BYTES: sends random bytes; sets `same` and `took`, in ms.
transfer() {
    : > taken
    on "$2" timeout 60 python3 "$set_of/shared/transfer.py" take > taken &
    taker=$!
    wait_for 30 grep -q ready taken
    on "$1" timeout 60 python3 "$set_of/shared/transfer.py" send "$2" "$3" > sent
    wait $taker
    same=$([ "$(tail -n 1 taken)" = "$(cut -d ' ' -f 1 sent)" ] && echo yes)
    took=$(cut -d ' ' -f 2 sent)
}
transfer web1 web2 20000000
check_equal "20 MB pass unharmed (in $took ms)" yes "$same"
"$hosts" delay --rate 16 "$set_of" web2 web1 1ms
transfer web1 web2 2000000
check_equal "with 16 Mbit/s, 2 MB pass" yes "$same"
check "... in a second or more ($took ms)" test "$took" -ge 990
"$hosts" delay --loss 100 "$set_of" web1 web2 1ms
check_equal "with a loss of 100 % nothing passes" "" "$(fastest web1 web2)"
check_not "nonsense is refused" "$hosts" delay "$set_of" web1 web2 fast
check "0 removes the delay" "$hosts" delay "$set_of" web1 web2 0
round_trip=$(fastest web1 web2)
check "... and it is fast again ($round_trip us)" test "$round_trip" -lt 50000
"$hosts" unplug "$set_of" web2
check_equal "a host without its cable is not reached" "" "$(fastest web1 web2)"
"$hosts" plug "$set_of" web2
check "... and with it, it is" wait_for 30 on web1 ping -c 1 -W 1 web2

# ---- each meters its own processes ----

cat > set/shared/metered.sh << 'END'
# metered.sh DPM RANK NAME...: acquires everything here, and then takes part in the conversation of all hosts
cd "$(dirname "$0")" || exit 1
own=$(hostname)
export DPM_SOCKET=none
timeout 100 "$1" acquire --all -o "$own.trace" --kinds all --report "$own.report" 2> "$own.err" &
# wait_for_all SUFFIX: until each host has written this file, or 60 s have passed
wait_for_all() {
    for try in $(seq 1200); do
        [ "$(ls -- *".$1" | wc -l)" = 3 ] && break
        sleep 0.05
    done
}
for try in $(seq 600); do
    grep -q '^dpm: metering' "$own.err" && break
    sleep 0.05
done
touch "$own.metering"
wait_for_all metering
for try in $(seq 1200); do
    test -e go && break
    sleep 0.05
done
shift
timeout 60 python3 talk.py "$@" > "$own.json"
touch "$own.done"
wait_for_all done
kill -TERM $!
wait
END
# all_meter: whether each host meters
all_meter() {
    for name in $names; do
        test -e set/shared/$name.metering || return 1
    done
}
rank=0
conversations=
for name in $names; do
    # shellcheck disable=SC2086 # one word for each
    on $name sh "$set_of/shared/metered.sh" "$dpm" $rank $names &
    conversations="$conversations $!"
    rank=$((rank + 1))
done
wait_for 60 all_meter
kill -URG "$(awk '$1 == "web1" { print $4 }' list)"
touch set/shared/go
# shellcheck disable=SC2086 # one word for each
wait $conversations
cd set/shared || exit 1
for name in $names; do
    "$dpm" stats --json $name.trace > stats.json 2> err
    check "$name: the program ends in order" test -s $name.json
    check_equal "... the trace has what the program counts" "$(jq -c '[.pid, .sent, .received]' $name.json)" \
        "$(jq -c --argjson pid "$(jq .pid $name.json)" '.processes[] | select(.pid == $pid) |
            [.pid, (.sent, .received | {messages, bytes})]' stats.json)"
    check "... none is lost" jq -e '.trace.lost == 0' stats.json
    check_equal "... and has only processes of this host" \
        "$(readlink "/proc/$(awk -v name=$name '$1 == name { print $4 }' "$scratch/list")/ns/pid" | tr -dc 0-9)" \
        "$("$dpm" dump --json --type stream $name.trace | jq .pid_namespace | sort -u | xargs)"
    check_equal "... process 1 among them" "[\"hosts\"]" \
        "$("$dpm" dump --json --type stream $name.trace | jq -c -s '[.[] | select(.pid == 1).name] | unique')"
done
"$dpm" stats --json web1.trace web2.trace db1.trace > all.json 2> err
check_equal "together: three machines, by their names" '["db1","web1","web2"]' \
    "$(jq -c '[.processes[].machine] | unique' all.json)"
check_equal "... a signal from outside of a host has an unknown sender" 4294967295 \
    "$("$dpm" dump --json --type signal web1.trace | jq 'select(.signal == 23 and .receiver_pid == 1).sender_pid')"
check_equal "... what was sent is what was received" "[0,0,0]" \
    "$(jq -c '.trace.matching | [.unmatched_sends, .unmatched_receives, .external]' all.json)"
"$dpm" dump --json --matched --type receive web1.trace web2.trace db1.trace > edges.json 2> err
check_equal "... all exactly" "[]" \
    "$(jq -c -s '[.[] | select(.name == "python3" and .bytes > 0 and
        (.rest != null or (.edges | length == 0 or any(.kind != "exact"))))] | .[:3]' edges.json)"
check_equal "... each message of one program at another one, or itself" \
    "$(jq -s 'map(.received.messages) | add' web1.json web2.json db1.json)" \
    "$(jq -s '[.[] | select(.name == "python3" and .bytes > 0)] | length' edges.json)"
check_equal "... and who sends to whom agrees with the programs, between hosts" "$(jq -c -s '
        map(.sent) | [(map(.messages) | add), (map(.bytes) | add)]' web1.json web2.json db1.json)" \
    "$(jq -c '([.processes[] | select(.name == "python3").id]) as $ids |
        [.pairs[] | select(.from == ($ids[]) and .to == ($ids[]))] |
        [(map(.messages) | add), (map(.bytes) | add)]' all.json)"
"$dpm" report web1.trace web2.trace db1.trace > report 2> err
for name in $names; do
    check "the report names $name" grep -qw $name report
done

# ---- commands on two hosts ----

"$hosts" delay "$set_of" web1 db1 20ms
: > taken
on db1 timeout 60 "$dpm" run -o "$PWD/take.trace" --report "$PWD/take.report" -- \
    python3 "$PWD/transfer.py" take > taken 2> take.err &
taker=$!
wait_for 30 grep -q ready taken
on web1 timeout 60 "$dpm" run -o "$PWD/send.trace" --report "$PWD/send.report" -- \
    python3 "$PWD/transfer.py" send db1 1000000 > sent 2> send.err
check_equal "dpm run on two hosts at once: one ends in order" 0 $?
wait $taker
check_equal "... the other, too" 0 $?
"$dpm" stats --json take.trace send.trace > run.json 2> err
check_equal "... the bytes are those that were sent" '["web1","db1",1000000]' \
    "$(jq -c '(.processes | map({key: "\(.id)", value: .machine}) | from_entries) as $machine |
        .pairs[] | select(.bytes >= 1000000) | [$machine["\(.from)"], $machine["\(.to)"], .bytes]' run.json)"
check_equal "... and nothing is unmatched" "[0,0,0]" \
    "$(jq -c '.trace.matching | [.unmatched_sends, .unmatched_receives, .external]' run.json)"
for one in all run; do
    check "the clocks of two hosts, which are one clock, are equal within the reported error ($one)" \
        jq -e '.trace.clocks | length >= 2 and all((.ahead_ns | fabs) <= .error_ns)' $one.json
done
cd "$scratch" || exit 1

# ---- the end ----

# gone: whether nothing is left of the set: no process of it, no folder.
gone() {
    for init in $inits; do
        ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$init/status" 2> /dev/null || return 1
    done
    ! ps ax -o args= | grep -v grep | grep -F "$set_of/" && test ! -e "$set_of"
}
check "down removes everything" "$hosts" down "$set_of"
check "... all of it" wait_for 30 gone
check "... and works twice" "$hosts" down "$set_of"
check_not "an up that cannot succeed" "$hosts" up "$set_of" web1 web1
check_not "... because a process that it needs does not start" sh -c 'PATH=$(pwd)/broken:$PATH &&
    mkdir -p broken && printf "#!/bin/sh\nexit 1\n" > broken/mount && chmod +x broken/mount && "$1" up "$2" web1' \
    sh "$hosts" "$set_of"
check "... leaves nothing" wait_for 30 gone
sleep 60 &
owner=$!
"$hosts" up --owner $owner "$set_of" web1 > up.out 2> up.err
inits=$("$hosts" list "$set_of" | cut -d ' ' -f 4)
kill -9 $owner
check "hosts end with their owner, even if that is killed" wait_for 30 gone
"$hosts" up "$set_of" web1 web2 > up.out 2> up.err
inits=$("$hosts" list "$set_of" | cut -d ' ' -f 4)
kill -9 "$(cut -d ' ' -f 1 set/keeper)"
check "they end with their keeper" wait_for 30 sh -c 'for init in $1; do
    ! grep -q "^State:[[:space:]]*[^ZX]" /proc/$init/status || exit 1; done' sh "$inits"
check "... and down removes the rest" "$hosts" down "$set_of"
check "... all of it" wait_for 30 gone
finish
