#!/bin/sh
# SPDX-License-Identifier: MIT
# matched_test.sh BUILD_FOLDER: real programs: every byte that one metered process received is matched with the send of
# another, and the bytes agree with the programs' own counts.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs python3
cd "$scratch" || exit 1

# stats TRACE: into the file stats.json; complete: nothing was lost, all matches are exact.
stats() {
    "$dpm" stats --json "$1" > stats.json 2> stats.err
}
complete() {
    jq -e '.trace.lost == 0 and (.trace.matching | .unmatched_sends == 0 and .unmatched_receives == 0)' stats.json
}
# sent NAME, received NAME: bytes.
sent() {
    jq -r --arg name "$1" '[.processes[] | select(.name == $name).sent.bytes] | add' stats.json
}
received() {
    jq -r --arg name "$1" '[.processes[] | select(.name == $name).received.bytes] | add' stats.json
}

# ---- a pipeline ----

mkdir files
python3 -c 'import os
for i in range(1, 201):
    with open("files/%d" % i, "wb") as file:
        file.write(os.urandom(500 * i))'
size=$(tar cf - files | wc -c)
"$dpm" run --kinds pipe -o pipeline.trace --report pipeline.report -- sh -c 'tar cf - files | gzip -1 | wc -c' > out 2> err
check_equal "a pipeline runs" 0 $?
stats pipeline.trace
cp stats.json pipeline.stats
check "... every byte is matched" complete
check_equal "... exactly" true "$(jq '.trace.matching | .exact > 100 and .ordered == 0 and .inferred == 0' stats.json)"
check_equal "... tar wrote, and gzip read, what tar makes of these files" "$size $size" \
    "$(sent tar) $(received gzip)"
check_equal "... wc read what it says" "$(cat out)" "$(received wc)"
check "... gzip lets tar's data wait, so tar waits for room" jq -e '
    (.processes[] | select(.name == "tar").sender_blocked_ns.count) > 0 and
    (.processes[] | select(.name == "gzip").message_wait_ns.count) > 100' stats.json
check "... the report says so" sh -c "'$dpm' stats pipeline.trace | grep -q '^tar\[[0-9]*\]  *send blocked'"

# Sends of many megabytes that wait for a pager, which reads in small pieces.
"$dpm" run --kinds pipe --report none -o pager.trace -- sh -c '
    head -c 67108864 /dev/zero | dd bs=8M iflag=fullblock 2> dd.err | { head -c 100000 > page; sleep 0.5; cat | wc -c; }' > out 2> err
check_equal "a pager at the end of a pipeline" 0 $?
stats pager.trace
check "... every byte is matched" complete

# ---- a build ----

mkdir project
cat > project/Makefile << 'END'
all: $(patsubst %.c,%.o,$(wildcard *.c))
%.o: %.c
	gcc -pipe -O1 -c -o $@ $<
END
for i in 1 2 3 4 5 6; do
    echo "int f$i(int x) { return x * $i; }" > project/f$i.c
done
if command -v make > make.path && command -v gcc > gcc.path; then
    # make 4.4 keeps its tokens in a FIFO, unless it is asked for a pipe; 4.3 knows no other way
    style=--jobserver-style=pipe
    make $style --version > make.version 2>&1 || style=
    # shellcheck disable=SC2086 # none or one
    "$dpm" run --kinds pipe --report none -o make.trace -- make $style -s -j2 -C project > out 2> err
    check_equal "make -j2 runs" 0 $?
    stats make.trace
    check "... every byte is matched" complete
    # make's own tokens, and the output of six compilers; how often a token is taken depends on the machine
    check_equal "... exactly, or with uncertain order; no other process sent any" "" "$(
        jq -c '.trace.matching | select((.exact >= 6 and .exact + .ordered > 6 and
            .inferred == 0 and .external == 0 and .unselected == 0) | not)' stats.json)"
    # the assembler reads from its pipe what the compiler writes into it
    check_equal "... assemblers read what compilers wrote" "$(sent cc1)" "$(received as)"
    check "... of each of the six" jq -e '[.processes[] | select(.name == "as")] | length == 6' stats.json
    check_equal "... each wait for a child ends by its end" 0 "$("$dpm" dump --matched --json make.trace |
        jq -s '[.[] | select(.event == "BLOCK" and .system_call == 61 and
            ([.edges[]?.kind] | index("termination") | not))] | length')"
else
    skip "make -j2" "make or gcc is not installed"
fi

# ---- a pipe that an unmonitored process opens ----

# It is created while metered; another process opens it and writes 5 bytes. (The meter checks it about once a second.)
cat > passed.py << 'END'
import os, signal, time
signal.alarm(60)
end, begin = os.pipe()
with open("place.new", "w") as place:
    place.write("/proc/%d/fd/%d" % (os.getpid(), begin))
os.rename("place.new", "place")
while not os.path.exists("written"):
    time.sleep(0.02)
time.sleep(3)
os.write(begin, b"x" * 1000)
left = 1005
while left > 0:
    left -= len(os.read(end, left))
os.write(begin, b"x" * 2000)
os.read(end, 2000)
END
if only_kernel "an unmonitored process also writes into a pipe" "it sees no other processes"; then
    (wait_for 30 test -s place && printf 12345 > "$(cat place)" && touch written) &
    "$dpm" run --kinds pipe --report none -o passed.trace -- python3 passed.py > out 2> err
    check_equal "an unmonitored process also writes into a pipe" 0 $?
    wait
    "$dpm" dump --json --matched passed.trace > passed.json 2> dump.err
    check_equal "... what its maker then writes lies behind that, and is read as what it is" "5 1000 1000
1005 2000 2000" "$(jq -r -s '
        [.[] | select(.kind == "pipe" and .event == "SEND" and (.bytes == 1000 or .bytes == 2000))] as $sends |
        $sends[] | .sequence as $sequence | .stream as $stream | "\(.offset) \(.bytes) \($sequence)"' passed.json |
        while read -r offset bytes sequence; do
            echo "$offset $bytes $(jq -s --argjson sequence "$sequence" '[.[] | select(.event == "RECEIVE").edges[]? |
                select(.sequence == $sequence).bytes] | max' passed.json)"
        done)"
fi

# ---- senders that come and go ----

# A long-running journal has a path for each sender: it is ended when its sender is gone and it is drained.
cat > journal.py << 'END'
import os, signal, socket, time
signal.alarm(60)
name = "\0dpm-journal-%d" % os.getpid()
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind(name)
def write(line):
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.connect(name)
    sender.send(line)
    sender.send(line)
for _ in range(50):
    write(b"line")
    journal.recv(10)
    journal.recv(10)
write(b"the last")
time.sleep(4)
journal.recv(10)
journal.recv(10)
time.sleep(3)
journal.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
END
if only_kernel "a journal of short-lived senders" "it sees the sender of a datagram only if its receiver asks"; then
    "$dpm" run --kinds unix --report none -o journal.trace --flags all -- python3 journal.py > out 2> err
    check_equal "a journal of short-lived senders" 0 $?
    "$dpm" dump --json --matched journal.trace > journal.json 2> dump.err
    check_equal "... each of its paths is ended once while it lives, and every message is matched" "51 51 102 102" \
        "$(jq -r -s '
        [.[] | select(.kind == "unix-datagram")] as $all |
        ([$all[] | select(.event == "RECEIVE").path] | unique) as $paths |
        ([.[] | select(.event == "TERMINATION").time_ns] | max) as $last |
        [$all[] | select(.event == "DESTROYPATH" and .time_ns < $last).path | select([.] | inside($paths))] as $ended |
        [$all[] | select(.event == "RECEIVE")] as $receives |
        "\($paths | length) \($ended | length) \($receives | length) \([$receives[].edges[]? |
            select(.kind == "exact")] | length)"' journal.json)"
fi

# ---- a 32-bit program ----

# Its calls on pipes are counted, so that the positions of other streams' writes and reads are right. Its wait for a
# child, whose call has the number of poll, is no wait for messages.
cat > narrow.c << 'END'
static int call(int number, int first, const void *second, int third)
{
    int result;

    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
    return result;
}

void _start(void)
{
    static char buffer[100];
    static const int nap[] = {0, 100000000};

    if (call(2, 0, 0, 0) == 0) { /* fork */
        call(162, (int)nap, 0, 0); /* nanosleep */
        call(1, 0, 0, 0);
    }
    call(7, -1, buffer, 0);                       /* waitpid */
    call(4, 1, buffer, call(3, 0, buffer, 7)); /* write what is read */
    call(1, 0, 0, 0);                             /* exit */
}
END
if ! only_kernel "a program of 32 bits" "it lets these alone"; then
    :
elif command -v gcc > gcc.path && gcc -m32 -nostdlib -static -ffreestanding -fno-pie -no-pie -fno-stack-protector \
    -O1 -o narrow narrow.c 2> err && echo twelve | ./narrow > out 2> err; then
    "$dpm" run --kinds pipe --report none -o narrow.trace --flags all -- sh -c '
        { echo twelve; echo twelve hundred; } | { ./narrow; ./narrow; sleep 0.1; cat > rest; }' > out 2> err
    check_equal "a program of 32 bits in a pipeline" "0 twelve" "$? $(head -n 1 out)"
    "$dpm" dump --json --matched narrow.trace > narrow.json 2> dump.err
    check_equal "... its reads are not recorded, and the rest keeps its position" \
        "14 $(wc -c < rest)" "$(jq -r 'select(.event == "RECEIVE" and .name == "cat" and .bytes > 0 and
            .kind == "pipe") | "\(.offset) \(.bytes)"' narrow.json)"
    check_equal "... a wait for a child is none for messages" 0 "$(jq -s '[.[] | select(.event ==
        "RECEIVECALL" and .name == "narrow")] | length' narrow.json)"
else
    skip "a program of 32 bits" "it cannot be made, or does not run, here"
fi

# ---- the history drawn ----

# up to 20 ms after gzip begins, however long the machine takes to get there
shown=$("$dpm" dump --json pipeline.trace | jq -n '[inputs | {time_ns, name}] |
    ((map(select(.name == "gzip").time_ns) | min) - (map(.time_ns) | min)) / 1000000 + 20 | floor')
"$dpm" graph -o pipeline.svg --to "${shown}ms" pipeline.trace 2> err
check "the history is drawn" python3 -c '
import sys, xml.dom.minidom
xml.dom.minidom.parse("pipeline.svg")'
check "... with the processes" grep -q 'gzip\[' pipeline.svg
"$dpm" graph --format dot --most 100 pipeline.trace > pipeline.dot 2> err
check "... and dot gets a graph" grep -q '^digraph' pipeline.dot
check "... what is left out is said" grep -q 'drew .* events, left out' err

# nodes OPTION...: the drawn events, each with its process and its time in ns after the first one; the file ends gets
# the pairs of events with an arc.
nodes() {
    "$dpm" graph --format dot --most 1000000 "$@" pipeline.trace > nodes.dot 2> err
    sed -n -E 's/^ *e[0-9]+ -> e([0-9]+) .*/\1/p; s/^ *e([0-9]+) -> .*/\1/p' nodes.dot | sort -u > ends
    sed -n -E 's/^ *e([0-9]+) \[label="[A-Z]+", tooltip="([^,]*), .*\\n[A-Z]+ at ([0-9]+)\.([0-9]+) s.*/\1 \2 \3\4/p' \
        nodes.dot | sort
}
# between FROM TO: those of all events in this time, us.
between() {
    awk -v from="$1" -v to="$2" '$3 + 0 >= from * 1000 && $3 + 0 < to * 1000' all
}
nodes > all
check_equal "... every event of a stream is a node, if enough are asked for" \
    "$("$dpm" dump --json pipeline.trace | jq -s '[.[] | select(.stream > 0 and .pid != null and
        (.event | IN("STREAM", "SCHEDULE") | not))] | length')" "$(wc -l < all)"
# a third of the events before and behind, however long the machine held them up in between
sort -n -k 3 all | awk '{ time[NR] = $3 } END { printf "%d %d\n", time[int(NR / 3)] / 1000, time[int(NR * 2 / 3)] / 1000 }' > thirds
read -r from to < thirds
nodes --from ${from}us > some
check_equal "--from leaves out what is earlier, and nothing else" "$(between $from 1e12)" "$(cat some)"
nodes --to ${to}us > some
check_equal "--to leaves out what is later, and nothing else" "$(between 0 $to)" "$(cat some)"
nodes --from ${from}us --to ${to}us > some
check_equal "... both together draw what is between" "$(between $from $to)" "$(cat some)"
check "... which is some, and not all" test 0 -lt "$(wc -l < some)" -a "$(wc -l < some)" -lt "$(wc -l < all)"
cut -d ' ' -f 1 some | sort > drawn
check_equal "... and no arc leads to what is not drawn" "" "$(comm -13 drawn ends)"
gzip=$(jq -r '.processes[] | select(.name == "gzip").pid' pipeline.stats)
wc=$(jq -r '.processes[] | select(.name == "wc").pid' pipeline.stats)
nodes --process "$gzip" > some
check_equal "--process draws that process alone" "$(grep "\[$gzip\] " all)" "$(cat some)"
nodes --process "$gzip" --process "$wc" > some
check_equal "... two of them, if it is given twice" "$(grep -E "\[($gzip|$wc)\] " all)" "$(cat some)"
nodes --process gzip > some
check_equal "... by its name, what it did since it has had that" \
    "$("$dpm" dump --json --process gzip pipeline.trace | jq -s '[.[] | select(.event | IN("STREAM", "SCHEDULE") | not)] | length')" \
    "$(wc -l < some)"
"$dpm" graph --process nobody pipeline.trace > nobody.svg 2> err
check_equal "... of no process, and it says so" "dpm: --process nobody: nothing in the trace matches" "$(cat err)"
"$dpm" graph --process nobody --process gzip pipeline.trace > nobody.svg 2> err
check "... also together with another process" grep -qx 'dpm: --process nobody: nothing in the trace matches' err
"$dpm" graph --from 1000s pipeline.trace > nothing.svg 2> err
check_equal "... at no time" "dpm: no event matches --process, --from and --to" "$(cat err)"
"$dpm" graph --from 20ms --to 10ms pipeline.trace > out 2> err
check_equal "... an end before the beginning is wrong usage" "2 0" "$? $(wc -c < out)"

"$dpm" graph -o pipeline.gv --most 100 pipeline.trace 2> err
check "by its name a graph for Graphviz" cmp pipeline.gv pipeline.dot
"$dpm" graph -o pipeline.txt --format dot --most 100 pipeline.trace 2> err
check "... by --format, if the name does not say" cmp pipeline.txt pipeline.dot
"$dpm" graph -o pipeline.png pipeline.trace > out 2> err
check_equal "a name that does not say it is wrong usage" \
    "2 dpm: graph: --output pipeline.png: use a suffix .svg, .dot or .gv, or give --format (try: dpm graph --help)" \
    "$? $(cat err)"
"$dpm" graph -o both.svg --format dot pipeline.trace > out 2> err
check_equal "... or says another than --format" \
    "2 dpm: graph: --output both.svg: its suffix contradicts --format (try: dpm graph --help)" "$? $(cat err)"
"$dpm" graph --format png pipeline.trace > out 2> err
check_equal "... a format that there is not is wrong usage" "2 0" "$? $(wc -c < out)"
"$dpm" graph -o /nowhere/x.svg pipeline.trace > out 2> err
check_equal "... a file that cannot be written is an error" "1 1" "$? $(grep -c '/nowhere/x.svg: cannot be written' err)"
finish
