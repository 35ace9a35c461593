#!/bin/sh
# SPDX-License-Identifier: MIT
# descriptions_test.sh BUILD_FOLDER: `dpm filter --descriptions` from outside: the two layouts of the papers with their synthesised raw
# traces, whose contents synthesise.py knows without DPM; what strace has recorded of a known program; rules on their own fields; mistakes; and hostile raw files.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
examples=$(cd "$(dirname "$OLDPWD/$0")/../../examples/descriptions" 2> cd.err && pwd) ||
    examples=$(cd "$(dirname "$0")/../../examples/descriptions" && pwd)
demos=$examples/demos.descriptions
bsd=$examples/bsd.descriptions
/usr/bin/python3 "$examples/synthesise.py" . > truth
truth() {
    sed -n "s/^$1 $2 //p" truth
}
for system in demos bsd; do
    check "the raw trace of $system is what the script writes" cmp $system.raw "$examples/$system.raw"
done
check "both descriptions say that parts are synthesised" \
    test "$(grep -l synthesised "$demos" "$bsd" | wc -l)" = 2

# ---- figure 3.3: no length ----

runs "raw records of figure 3.3" "$dpm" filter --descriptions "$demos" demos.raw -o demos
check_equal "... are converted" "dpm: demos.raw: 162 events, 2 machines; written to demos" \
    "$(sed 's/16[0-9] events/162 events/' err)"
check_equal "... one trace for each machine" "3 4" "$(ls demos | tr '\n' ' ' | sed 's/ $//')"
"$dpm" stats --json demos > stats.json 2> err
check_equal "all sends are those that were synthesised" "$(truth demos sends)" \
    "$(jq '[.pairs[].messages] | add' stats.json)"
check_equal "all receives are matched, as inferred" "$(truth demos receives)" \
    "$("$dpm" stats demos 2> stats.err | sed -n 's/^Matched receives: \([0-9]*\) inferred\.$/\1/p')"
check_equal "the server's CPU time" "$(truth demos server_cpu_ms)000000" \
    "$(jq '.processes[] | select(.pid == 131075) | .cpu_ns' stats.json)"
check_equal "sizes are unknown, not 0" "null" "$(jq -c '[.pairs[].bytes] | unique | .[]' stats.json)"
check "... and the report says so" grep -q 'SEND lack PC, bytes, which that system does not record: sizes of messages are unknown' err
check_equal "each request was answered in 5 ms" '[5000000,5000000]' \
    "$(jq -c '[.processes[] | select(.pid == 131075) | .response_ns | .min, .max]' stats.json)"
check_equal "causality: a path of length 1 for each request" "A 20" \
    "$("$dpm" causality demos 2> err | awk '/^STRING/ { getline; print $1, $2 }')"
for command in report why path parallelism graph dump; do
    runs "dpm $command reads it" "$dpm" $command demos/3 demos/4
done
if command -v babeltrace2 > babel; then
    check "babeltrace2 reads it" babeltrace2 demos/3
fi

# ---- 4.2BSD: streams of bytes ----

runs "raw records of 4.2BSD" "$dpm" filter --descriptions "$bsd" bsd.raw -o bsd
check "... types without a meaning are counted" grep -q 'bsd.raw: 3 records left out: .*DESTSOCKET$' err
"$dpm" stats --json bsd > stats.json 2> err
check_equal "bytes" "$(truth bsd bytes)" "$(jq '[.pairs[].bytes] | add' stats.json)"
check_equal "receives of parts of messages are matched" "$(truth bsd receives)" \
    "$("$dpm" stats bsd 2> stats.err | sed -n 's/^Matched receives: \([0-9]*\) inferred\.$/\1/p')"
check_equal "the date is the system's" "1984-05-02" "$("$dpm" dump bsd 2> err | head -n 1 | cut -c 1-10)"
check_equal "the fork" "101" "$("$dpm" dump --json bsd 2> err | jq 'select(.event == "CREATEPROCESS") | .pid')"

# Rules that remove any of the messages: each request was answered after 54 ms, and served in 50, so no other times may appear.
seed=${DPM_SEED:-$(date +%s)}
echo "# DPM_SEED=$seed"
for round in 1 2 3 4 5 6; do
    awk -v seed="$((seed + round))" 'BEGIN {
        srand(seed)
        for (i = 0; i < 4; i++)
            printf "type=%s, offset%s%d, process=%d;\n", rand() < 0.5 ? "send" : "receive", rand() < 0.5 ? "<" : ">",
                rand() * 10000, rand() < 0.5 ? 102 : 201
    }' > some.rules
    rm -rf some
    "$dpm" filter -r some.rules bsd -o some 2> err
    "$dpm" stats --json some > some.json 2> err
    jq -c '[.processes[] | [.request_ns, 54000000], [.response_ns, 50000000]
        | select(.[0] and (.[0].min != .[1] or .[0].max != .[1]))]' some.json > made.up
    check_equal "after rules, no time of a request is made up" "[]" "$(cat made.up)"
    [ "$(cat made.up)" = "[]" ] || sed 's/^/# /' some.rules
    # what was received was sent, whether or not its SEND is there
    check_equal "... and no received message is missing in the traffic" true "$(jq --argjson received "$(
        "$dpm" dump --json --type receive some 2> err | jq -s 'group_by(.pid) | map({(.[0].pid | tostring): map(.bytes) | add}) | add // {}')" '
        . as $all | [.processes[].pid] as $pids | [$all.pairs[] | select(.to | type == "number")] |
        all($received | to_entries[]; . as $one | [$all.pairs[] | select(.to | type == "number" and $pids[. - 1] == ($one.key | tonumber)) | .bytes] | add >= $one.value)' some.json)"
done

# ---- strace: a client sends 10, 200 and 3000 bytes to its child, which answers with twice as much; then 5 through a pipe ----

check "the lines of strace become raw records" \
    sh -c "/usr/bin/python3 '$examples/strace.py' < '$examples/strace.calls' > strace.raw 2> left"
check "... but for calls on files, which are counted" grep -qx 'strace.py: [0-9]* calls on files .* left out' left
runs "... and a trace" sh -c "'$dpm' filter --descriptions '$examples/strace.descriptions' - -o strace < strace.raw"
"$dpm" stats --json strace > stats.json 2> err
check_equal "... with all messages and bytes each way" "3210 in 3, 6425 in 6" \
    "$(jq -r '[.pairs | sort_by(.bytes)[] | "\(.bytes) in \(.messages)"] | join(", ")' stats.json)"
check_equal "... each receive matched" "0 0" \
    "$(jq -r '.trace.matching | "\(.unmatched_receives + .external) \(.unmatched_sends)"' stats.json)"
check_equal "... both processes, and how the child ended" "python3 python3 768" \
    "$(jq -r '[.processes[].name] | join(" ")' stats.json) $("$dpm" dump --json --type termination strace 2> dump.err | jq -s '[.[].status] | max')"
check_equal "CPU times are unknown, not 0" null "$(jq -c '[.processes[].cpu_ns] | unique[]' stats.json)"
check "... as the output says" grep -q 'SEND lack procTime, .*: CPU time is unknown, and results count none' err

# ---- rules ----

cat > figures.rules << 'END'
machine=3, traceType=1, time>10000;
machine=1, type=1, fromTask=20003, toTask=30003, channel=0;
machine=*, traceType=1, time=#*, procTime=#*, code=#*;
traceType=Receive, channel=#*, code=#*, passLink=#*;
END
runs "rules of the figures on the system's own fields" \
    "$dpm" filter --descriptions "$demos" --rules figures.rules demos.raw -o selected
check_equal "... accept sends and receives" "RECEIVE SEND " \
    "$("$dpm" dump --json selected 2> err | jq -r .event | grep -E '^(SEND|RECEIVE|RECEIVECALL|MESSAGEQUEUED|TERMINATION)$' | sort -u | tr '\n' ' ')"
check_equal "... discard what they say" "40" \
    "$("$dpm" dump --type send selected 2> err | grep -c 'without procTime')"
echo 'fromTask=0x30003, type=sendmessage;' > one.rules
runs "numbers are in the field's base" "$dpm" filter --descriptions "$demos" -r one.rules demos.raw -o one
check_equal "... and select" 10 "$("$dpm" dump --type send one 2> err | wc -l)"
echo 'fromTask=30003, process=20003;' > none.rules
runs "DPM's own fields work, too" "$dpm" filter --descriptions "$demos" -r none.rules demos.raw -o none
check_equal "... of the process that acts" "10" "$("$dpm" dump --type receive none 2> err | wc -l)"
echo 'nosuch=3;' > wrong.rules
fails "an unknown field" 1 "wrong.rules:1:1: 'nosuch': expected the name of a field" \
    "$dpm" filter --descriptions "$demos" -r wrong.rules demos.raw -o x

# ---- names, and waits ----

# Fields named from and to; a name in a record that is no event, after the process's first record; and waits that no receive
# ends.
cat > named.descriptions << 'END'
set system="X", timeUnit=ms;
header 0,   machine,0,4,16  traceType,4,4,10  time,8,4,10  procTime,12,4,10;
SENDMESSAGE 1,  from,0,4,16  to,4,4,16  channel,8,4,10;
RECEIVECALL 2,  task,0,4,16:process;
RECEIVEMESSAGE 3,  from,0,4,16  to,4,4,16  channel,8,4,10;
WHO 9:none, task,0,4,16:process  what,4,16,text:name;
END
/usr/bin/python3 - > named.raw << 'END'
import struct, sys
def record(kind, time, *body):
    sys.stdout.buffer.write(struct.pack("<IIII", 1, kind, time, 0) + b"".join(body))
def number(*values):
    return struct.pack("<%dI" % len(values), *values)
record(2, 1, number(0x20))
record(1, 2, number(0x10, 0x20, 0))
record(3, 3, number(0x10, 0x20, 0))
record(9, 4, number(0x20), b"server".ljust(16, b"\0"))
record(2, 5, number(0x20))
record(2, 6, number(0x30))
END
runs "fields named from and to, and names" "$dpm" filter --descriptions named.descriptions named.raw -o named
check_equal "... nothing is left out" "dpm: named.raw: 5 events, 1 machine; written to named" "$(cat err)"
check_equal "... the process has its name" "10 server 1" \
    "$("$dpm" stats named 2> err | awk '/^Who sent to whom/ { getline; getline; sub(/\[.*/, "", $1); sub(/\[.*/, "", $2); print $1, $2, $3 }')"
check_equal "... waits without a receive are waits" 3 "$("$dpm" dump --type receivecall named 2> err | wc -l)"
check_not "... in no system call" sh -c '"$1" dump --type receivecall named 2> err | grep -q ", in "' - "$dpm"

# ---- late records ----

# late NAME TIME...: the raw file NAME, a send on channel 0 at each of these times, in this order
late() {
    name=$1
    shift
    /usr/bin/python3 -c 'import struct, sys
for time in sys.argv[1:]:
    sys.stdout.buffer.write(struct.pack("<IIIIIII", 1, 1, int(time), 0, 0x10, 0x20, 0))' "$@" > "$name"
}
sent_at() {
    "$dpm" dump --json --type send "$1" 2> err | jq -s -c 'map(.time_ns / 1000000)'
}
late late.raw 5000000 3 4000000 5000001
runs "a record that comes 80 minutes late" "$dpm" filter --descriptions named.descriptions late.raw -o late
check_equal "... stands where it happened" '[3,4000000,5000000,5000001]' "$(sent_at late)"
late before.raw 3 4294967290 4294967292 5
runs "one from before the counter's overflow" "$dpm" filter --descriptions named.descriptions before.raw -o before
check_equal "... stands before those behind it" '[4294967290,4294967292,4294967299,4294967301]' "$(sent_at before)"
late over.raw 4294967290 4 2000000000
runs "a counter that overflows, and a gap of 23 days" "$dpm" filter --descriptions named.descriptions over.raw -o over
check_equal "... goes on" '[4294967290,4294967300,6294967296]' "$(sent_at over)"
late doubt.raw 4000000000 2000000000
fails "23 days late, or 26 later" 1 \
    'doubt.raw: byte 28: time 2000000000: a counter of 4 bytes does not show whether this record came late, or after a gap' \
    "$dpm" filter --descriptions named.descriptions doubt.raw -o x

# ---- mistakes ----

fails "no output" 2 'filter: name the trace to write: -o TRACE' "$dpm" filter --descriptions "$demos" demos.raw
fails "no raw file" 2 'filter: --descriptions: name one file of raw records' "$dpm" filter --descriptions "$demos" -o x
fails "an output that exists" 1 'demos: cannot be created: File exists' \
    "$dpm" filter --descriptions "$demos" demos.raw -o demos
sed 's/fromTask,0,4,16/fromTask,0,4/' "$demos" > wrong.descriptions
fails "a mistake in descriptions has a place" 1 \
    "wrong.descriptions:11:31: 'toTask': expected ',' and the field's number base" \
    "$dpm" filter --descriptions wrong.descriptions demos.raw -o x
grep -v timeUnit "$demos" > no.descriptions
fails "no unit of time" 1 "no.descriptions: nothing says in which unit times are: add 'set timeUnit=ms;'" \
    "$dpm" filter --descriptions no.descriptions demos.raw -o x
sed 's/machine,0,4,16/place,0,4,16/; s/channel,8,4,10/channel,8,2,10 machine,10,2,10/' "$demos" > body.descriptions
fails "the machine in a body" 1 "body.descriptions: SENDMESSAGE: its body has the machine, which must be in the header" \
    "$dpm" filter --descriptions body.descriptions demos.raw -o x
fails "the layout of another system" 1 "demos.raw: byte 0: the record has 1 byte, a header needs 24 to" \
    "$dpm" filter --descriptions "$bsd" demos.raw -o x
printf 'abcdefghijklmnopqrstuvwxyz' > text.raw
fails "no raw records at all" 1 'text.raw: byte 0: no description of type 1751606885' \
    "$dpm" filter --descriptions "$demos" text.raw -o x
: > empty.raw
fails "an empty file" 1 'empty.raw: has no whole record of a described type' \
    "$dpm" filter --descriptions "$demos" empty.raw -o x
check "nothing is left of them" test ! -e x
head -c 1000 bsd.raw > cut.raw
runs "a file that was cut" "$dpm" filter --descriptions "$bsd" cut.raw -o cut
check "... is read up to there" grep -q 'the file ends inside a record: its [0-9]* bytes are left out' err
runs "from standard input" sh -c "'$dpm' filter --descriptions '$bsd' - -o input < bsd.raw"
check_equal "... the same" "$("$dpm" dump bsd 2> err)" "$("$dpm" dump input 2> err)"

# ---- DPM's own ----

runs "descriptions of DPM's own records" "$dpm" rules descriptions
check "... have all types" sh -c "grep -q '^SEND 1:none' out && grep -q '^BEGIN 40:none' out"
cannot_print "rules descriptions" "$dpm" rules descriptions
finish
