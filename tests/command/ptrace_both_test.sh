#!/bin/sh
# SPDX-License-Identifier: MIT
# ptrace_both_test.sh BUILD_FOLDER: one run of the truth program, recorded by both meters at once: their events are the
# same, and so are the edges that both mark exact. The ptrace meter's trace must also agree with the program's own log.
# And two recordings are joined, by any combination of meters.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/other_ends.sh"
need_meter
truth=$1/tests/truth
cd "$scratch" || exit 1
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
echo "# seed $seed (DPM_SEED repeats it)"

dump_of() {
    "$dpm" dump --json --matched "$1" > "$2" 2> dump.err || echo "# dump of $1: status $?, $(cat dump.err)"
}

# counted: the number of equal ones is not small.
counted() {
    awk '/^SEND .* equal$/ { sends = $2 } /^RECEIVE .* equal$/ { receives = $2 }
         /RECEIVEs blocked by both/ { blocked = $1 } /exact in both and equal/ { exact = $1 }
         END { exit !(sends > 1000 && receives > 1000 && blocked > 100 && exact > 1000) }' both
}

complete() {
    grep -Eq '^[0-9]+ records of .*; 0 lost;' compared &&
        awk '/edges had to be exact/ { found = $1 >= 1000 } END { exit !found }' compared
}

runs=1
! long_ones || runs=2
# record_by_both SEED
record_by_both() {
    rm -rf log kernel.trace ptrace.trace
    mkdir log
    "$dpm" run --meter kernel -o kernel.trace --wait --ring 64M --report kernel.report -- \
        "$dpm" run --meter ptrace -o ptrace.trace --report ptrace.report -- \
        "$truth/truth-program" --seed "$1" --log log > out 2> err
    status=$?
    dump_of ptrace.trace ptrace.json
    dump_of kernel.trace kernel.json
}

for run in $(seq $runs); do
    repeat record_by_both $((seed + run))
    check_equal "the truth program ends in order under both meters, seed $((seed + run))" 0 $status
    if "$truth/truth-both" kernel.json ptrace.json > both; then
        pass "... and both have recorded the same"
    else
        fail "... and both have recorded the same" "$(head -n 20 both; tail -n 9 both; cat err; head -n 30 ptrace.report)"
    fi
    check "... which is much" counted
    if "$truth/truth-compare" ptrace.json log > compared 2>&1; then
        pass "... and what the program's own log says"
    else
        fail "... and what the program's own log says" \
            "$(grep difference compared | head -n 20; tail -n 4 compared)"
    fi
    check "... no record is lost, and edges of paths without concurrent calls are exact" complete
done
grep -E 'blocked by|exact in' both | sed 's/^/# /'

# A container's own filter may forbid copying descriptors: sockets are then found in the kernel's list.
rm -rf log ptrace.trace
mkdir log
if "$1/tests/programs/forbid" error:pidfd_getfd true 2> forbid.err; then
    "$1/tests/programs/forbid" error:pidfd_getfd "$dpm" run --meter ptrace -o ptrace.trace --report ptrace.report -- \
        "$truth/truth-program" --seed "$seed" --log log > out 2> err
    check_equal "the truth program ends in order without copies of descriptors" 0 $?
    dump_of ptrace.trace ptrace.json
    "$truth/truth-compare" ptrace.json log > compared 2>&1
    check_equal "... and what its log says is recorded" equal "$(tail -n 1 compared)"
    check "... all of it" complete
else
    skip "descriptors that may not be copied" "a filter of system calls needs privilege: $(cat forbid.err)"
fi

# A past bug: an empty message among the first ones of a connection, whose call has not ended.
rm -rf log ptrace.trace
mkdir log
"$dpm" run --meter ptrace -o ptrace.trace --report ptrace.report -- "$truth/truth-program" --seed 31011 --log log \
    > out 2> err
dump_of ptrace.trace ptrace.json
"$truth/truth-compare" ptrace.json log > compared 2>&1
check_equal "an empty message is no end, seed 31011" equal "$(tail -n 1 compared)"

# Without the filter: a different way to stop at calls, the same records.
rm -rf log ptrace.trace
mkdir log
"$dpm" run --meter ptrace --survive --wait -o ptrace.trace --report ptrace.report -- \
    "$truth/truth-program" --seed "$seed" --log log > out 2> err
check_equal "the truth program ends in order with --survive" 0 $?
dump_of ptrace.trace ptrace.json
if "$truth/truth-compare" ptrace.json log > compared 2>&1; then
    pass "... and its log and the trace are equal"
else
    fail "... and its log and the trace are equal" \
        "$(grep difference compared | head -n 20; tail -n 4 compared)"
fi

# ---- who is at the other end: late, moved, in other namespaces (other_ends.c) ----

mkdir fifos
for mode in "late tcp" "late tcp6" "late unix" "late seqpacket" "late-one unix" "unaccepted unix" "again tcp" "again udp" \
    "again unix-datagram" again-late own-files "fifo fifos" lost submit dual group network; do
    [ "$mode" != network ] || unshare -n true 2> err || continue
    for meter in kernel ptrace; do
        # shellcheck disable=SC2086 # a mode and its kind
        record $meter $mode
        [ "$mode" != network ] || in_order
        check_equal "$mode: the $meter meter says who has sent what" \
            "$(wc -l < truth) of $(wc -l < truth); 0 wrong" "$(judge | sed 's/, [0-9]* exact//')"
    done
done

# ---- two recordings, of a server and of its client ----

if command -v python3 > /dev/null; then
    cat > serve.py << 'END'
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
for _ in range(2):
    client = listener.accept()[0]
    while client.recv(1000):
        client.sendall(b"a" * 50)
END
    cat > ask.py << 'END'
import socket, sys
for _ in range(2):
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    for i in range(10):
        server.sendall(b"q" * (100 + i))
        server.recv(50)
    server.close()
END
    for meters in "kernel ptrace" "ptrace kernel" "ptrace ptrace"; do
        port=$(free_port)
        rm -rf server.trace client.trace served
        "$dpm" run --meter "${meters% *}" -o server.trace --report server.report -- python3 serve.py "$port" \
            > served 2> server.err &
        server=$!
        wait_for 30 grep -q ready served
        "$dpm" run --meter "${meters#* }" -o client.trace --report client.report -- python3 ask.py "$port" 2> err
        wait $server
        "$dpm" stats --json server.trace client.trace > joined.json 2> joined.err
        check_equal "server and client, recorded by $meters: each message is matched, for certain" \
            '[[20,1000],[20,2090]] true 0 0' "$(jq -r '"\([.pairs[] | select(.messages == 20) |
                [.messages, .bytes]] | sort | tostring) \(.trace.matching | "\(.exact >= 40) \(.ordered + .inferred) \(
                .unmatched_sends + .unmatched_receives)")"' joined.json)"
    done
else
    skip "two recordings of a server and of its client" "python3 is not installed"
fi
finish
