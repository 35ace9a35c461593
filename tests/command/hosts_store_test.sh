#!/bin/sh
# SPDX-License-Identifier: MIT
# hosts_store_test.sh BUILD_FOLDER: what is kept of a recording on several machines: nothing but the report, which has all
# that the programs count; or the newest records, within the limits and without a hole. Hosts may share a home folder.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs nats-server jq python3
dpm=$(realpath "$dpm")
. "$(dirname "$0")/local_hosts.sh"
cd "$scratch" || exit 1
trap 'end_local_hosts; rm -rf "$scratch"' EXIT

# The client sends messages of 10 bytes, and the server sends each back; each says how many there were. Half way, the client
# waits as long as there is a file `hold`.
cat > talk.py << 'END'
import socket, sys
count = 0
if sys.argv[1] == "serve":
    with socket.create_server(("127.0.0.1", 0)) as listener:
        open("port.new", "w").write(str(listener.getsockname()[1]))
        import os
        os.rename("port.new", "port")
        end = listener.accept()[0]
    while data := end.recv(10, socket.MSG_WAITALL):
        end.sendall(data)
        count += 1
else:
    import os, time
    while not os.path.exists("port"):
        time.sleep(0.01)
    end = socket.create_connection(("127.0.0.1", int(open("port").read())))
    for i in range(int(sys.argv[2])):
        while i == int(sys.argv[2]) // 2 and os.path.exists("hold"):
            time.sleep(0.01)
        end.sendall(b"0123456789")
        end.recv(10, socket.MSG_WAITALL)
        count += 1
print(count)
END

# talk COUNT OPTION...: under dpm run on two hosts.
talk() {
    count=$1
    shift
    rm -f port
    timeout 200 "$dpm" run --rsh "$scratch/rsh" --remote-dpm "$dpm" --kinds tcp "$@" --host here:"python3 talk.py serve" \
        --host there:"python3 talk.py talk $count" < /dev/null > out 2> err
}

# left: files of the sessions and agents of this test that still exist
left() {
    find home state -type f ! -name log 2> /dev/null
}

# go_on COMMAND...: waits until it succeeds; then the client goes on
go_on() {
    wait_for 90 "$@"
    rm hold
}
: > hold
: > report
go_on grep -q ', so far$' report &
going=$!
talk 2000 --store none --interval 500ms --report report
check_equal "--store none ends in order" "0 here: 2000 there: 2000" "$(echo $? "$(LC_ALL=C sort out | xargs)")"
check "... the report has all messages of both" test "$(awk '/^Who sent to whom/ { part = 1; count = 0 }
    /^Who waits/ { part = 0 } part && / 2,000 / && / local$/ { count++ } END { print count }' report)" = 2
check "... each matched exactly" grep -q '^Matched receives: 4,000 exact\.$' report
wait $going
check "... there were reports before" grep -q ', so far$' report
check "... and it is not stored" grep -Eq '^dpm: [0-9]+ records of 2 hosts, 0 lost, not stored$' report
check_equal "... no trace is left" "" "$(ls -d -- *.traces* 2> ls.err)"
wait_for 30 no_agents
check_equal "... nor anything of the session and the agents" "" "$(left)"

# lines FILE: the number of lines of JSON that say that they are the last one, and the messages that the last line has
lines() {
    jq -rs '"\(map(select(.time.last)) | length) \([.[-1].pairs[].messages] | add)"' "$1"
}

talk 2000 --store none --interval 1h --json --report lines
check_equal "lines of JSON end with one of the whole" "0 1 4000" "$? $(lines lines)"
talk 2000 -o stored --interval 1h --json --report lines
check_equal "... also if traces are stored" "0 1 4000" "$? $(lines lines)"
check "... and the report follows" grep -q '^dpm: .* records of 2 hosts, 0 lost, in stored$' err
for store in "--store none" "-o filled"; do
    # shellcheck disable=SC2086 # two words
    talk 2000 $store --interval 1h --json --report /dev/full
    check_equal "$store: lines that cannot be written are an error" 1 $?
    check "... which is said" grep -q 'lines of JSON are missing, the report is not$' err
    check "... after the report" grep -q '^dpm: .* records of 2 hosts, 0 lost' err
done

talk 4000 -o small --store all --max-size 128K
check_equal "traces reach their largest size: the programs run on, and the run fails" "1 here: 4000 there: 4000" \
    "$(echo $? "$(LC_ALL=C sort out | xargs)")"
check_equal "... each host is named" "dpm: here: its trace has reached its largest size (--max-size): nothing more of it is stored
dpm: there: its trace has reached its largest size (--max-size): nothing more of it is stored" "$(grep 'largest size (' err | LC_ALL=C sort)"
check "... and the report says that records are missing" grep -q '^dpm: .* records of 2 hosts, lost: unknown on here.*(here is not stored whole)' err

# The process that stores is killed while they talk: another one goes on where it has ended.
killed() {
    test -s killed/here/data -a -s killed/there/data && pkill -9 -f "^$dpm filter --from killed --output killed "
}
: > hold
go_on killed &
going=$!
talk 4000 -o killed --session killed --interval 1h --json --report lines
check_equal "the filter process is killed, and the run ends in order" "0 here: 4000 there: 4000" "$(echo $? "$(LC_ALL=C sort out | xargs)")"
wait $going
check_equal "... which is said" 1 "$(grep -c '^dpm: the filter that stores the records was killed by signal 9; it is started again$' err)"
check_equal "... nothing is lost, and nothing stored twice" "4000 4000" \
    "$(for host in here there; do "$dpm" stats --json killed/$host 2> stats.err | jq '[.processes[].sent.messages] | add'; done | xargs)"
check "... and the report says so" grep -q '^dpm: .* records of 2 hosts, 0 lost, in killed$' err
check_equal "... the lines of JSON while it goes on have all messages, too" "1 8000" "$(lines lines)"

mkdir one away
# A filter on another host, with a program that fails, whose connection breaks: what comes through it goes through a cat here.
cat > thin_rsh << END
#!/bin/sh
rm -f "$scratch/thread"
mkfifo "$scratch/thread"
exec 3<&0
cat <&3 > "$scratch/thread" &
echo \$! > "$scratch/thin"
"$scratch/rsh" "\$@" < "$scratch/thread"
END
cat > fails << 'END'
#!/bin/sh
echo >> begun
cat > all
exit 3
END
# A connection that breaks without the filter's noticing, as when a network is cut: what it reads and writes is held open.
cat > cut_rsh << 'END'
#!/bin/sh
mkfifo in.$$ out.$$
setsid sleep 100 <> in.$$ 4<> out.$$ > /dev/null 2>&1 &
holder=$!
trap 'kill $holder; exit 1' TERM
exec 3<&0
cat <&3 > in.$$ &
cat out.$$ &
setsid ./rsh "$@" < in.$$ > out.$$ 2>> there.err 3<&- &
filter=$!
echo $$ $holder > cut.new && mv cut.new cut
wait $filter
status=$?
kill $holder
exit $status
END
chmod 755 thin_rsh cut_rsh fails
went_on() {
    [ "$(grep -c 'filtering session' there.err)" -ge 2 ]
}
begun() {
    [ "$(wc -l < begun)" -ge "$1" ]
}
: > begun
timeout 300 "$dpm" run --rsh "$scratch/rsh" --remote-dpm "$dpm" --session thin --kinds pipe -o thin.traces \
    --host here:"sh -c 'until [ -e enough ]; do sleep 0.1; done'" < /dev/null > out 2> err &
run=$!
wait_for 30 test -s "$sessions/thin/session.json"
timeout 300 "$dpm" filter --from thin --json -o "$scratch/away/lines" > lines.json 2> lines.err &
lines=$!
(timeout 300 "$dpm" filter --from thin --json -o "$scratch/away/unread" 2> unread.err; echo $? > unread) | head -n 1 > head.json &
unread=$!
timeout 300 "$dpm" filter --from thin --host there --rsh "$scratch/thin_rsh" --remote-dpm "$dpm" -o "$scratch/away/thin" \
    --program "$scratch/fails" > filter.out 2>&1 &
filter=$!
timeout 300 "$dpm" filter --from thin --host there --rsh "$scratch/cut_rsh" --remote-dpm "$dpm" -o "$scratch/away/cut" > cut.out 2>&1 &
cut_filter=$!
wait_for 30 test -s away/cut/here/control -a -s cut
check_equal "a filter on another machine does not write what another one writes" 1 \
    "$(timeout 100 "$dpm" filter --from thin --host there --rsh "$scratch/rsh" --remote-dpm "$dpm" -o "$scratch/away/cut" 2>&1 |
        grep -c "there: the filter there failed: $scratch/away/cut/here: another process writes this copy")"
read -r carrier holder < "cut"
kill -9 "-$carrier"
wait_for 30 begun 1
kill "$(cat thin)"
check "a connection of a filter breaks: its program is started again, although it failed" wait_for 60 begun 2
check "... and another one that did not notice: the next one finds that it still writes" \
    wait_for 60 grep -q 'another process writes' there.err
kill "$holder"
check "... and goes on when it has ended" wait_for 60 went_on
: > enough
wait $run
check_equal "... the recording goes on" 0 $?
wait $filter
check_equal "... and the program's failure is reported at the end" "1 1" \
    "$? $(grep -c 'there: the filter there failed: the filter ended with exit status 3$' filter.out)"

wait $lines
check_equal "dpm filter --json: the last line has all of each copy" "0 true true 0 here main here true false" \
    "$(echo $? "$(tail -n 1 lines.json | jq -r '"\(.last) \(.complete) \(.left) \(.copies[] | "\(.machine) \(.recording) \(.name) \(.ended) \(.rejected)")"')")"
check_equal "... its bytes are those in the files" "$(cat away/lines/here/control away/lines/here/data | wc -c)" \
    "$(tail -n 1 lines.json | jq '.copies[].bytes')"
wait $unread
check_equal "... and it ends in order when its reader goes" "0 1" "$(cat unread) $(wc -l < head.json)"
wait $cut_filter
cut_status=$?
check_equal "the filter that came back has all, too" "0 $("$dpm" dump away/lines/here 2> dump.err | md5sum)" \
    "$cut_status $("$dpm" dump away/cut/here 2> dump.err | md5sum)"

# Two hosts with names of their own and one home folder: each has an agent, and a copy of the program.
cp /bin/echo one/lacking
cat > shared_rsh << END
#!/bin/sh
host=\$1
shift
cd "$scratch/away" && HOME="$scratch/home" exec unshare --uts sh -c 'hostname "\$0"; exec "\$@"' "\$host" "\$@"
END
chmod 755 shared_rsh
(cd one && timeout 100 "$dpm" run --rsh "$scratch/shared_rsh" --remote-dpm "$dpm" --meter ptrace --store none --host left:"./lacking 1" \
    --host right:"./lacking 2") < /dev/null > out 2> err
check_equal "two hosts with one home folder have agents of their own" "0 left: 1 right: 2" \
    "$(echo $? "$(LC_ALL=C sort out | xargs)")"

check_not "options that have no meaning are refused" "$dpm" run --store none --max-age 1h --host a true
long_ones || finish

talk 8000 --store newest --max-size 1M -o newest
check_equal "--store newest ends in order" "0 here: 8000 there: 8000" "$(echo $? "$(LC_ALL=C sort out | xargs)")"
for host in here there; do
    check "... $host: it keeps to its size" \
        test "$(find newest/$host -type f -exec cat {} + | wc -c)" -le 1048576
    check_not "... the oldest are removed" test -e newest/$host/control
    "$dpm" dump --json newest/$host > dump.json 2> dump.err
    check_equal "... nothing between the first record and the last is missing" "[0,true]" \
        "$("$dpm" stats --json newest/$host 2> stats.err | jq -c '[.trace.lost, .trace.complete]')"
done
check "... and the report says what was removed" test "$(grep -c 'only the newest records are kept' err)" = 2
"$dpm" stats --json newest/* > stats.json 2> stats.err
check "... the newest messages are there, but not all" \
    jq -e '[.pairs[].messages] | add > 1000 and add < 16000' stats.json
finish
