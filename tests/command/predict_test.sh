#!/bin/sh
# SPDX-License-Identifier: MIT
# predict_test.sh BUILD_FOLDER: `dpm parallelism` of real programs, against their CPU time and elapsed time; its options
# and files, and its error messages.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs redis-server redis-cli
cd "$scratch" || exit 1

# row STEP ASSIGNMENT KEY FILE: a value of one row.
row() {
    jq -r --arg step "$1" --arg assignment "$2" \
        ".rows[] | select(.step == \$step and .assignment == \$assignment) | .$3" "$4"
}

# holds NAME FILE EXPRESSION: whether a jq expression is true for a file.
holds() {
    check_equal "$1" true "$(jq "$3" "$2")"
}

# matches NAME PATTERN FILE: whether a line matches.
matches() {
    check "$1" grep -E -q "$2" "$3"
}

# fails NAME STATUS PATTERN COMMAND...: one line on standard error, and nothing else.
fails() {
    fails_name=$1 fails_status=$2 fails_pattern=$3
    shift 3
    "$@" > fails.out 2> fails.err
    fails_found=$?
    if [ $fails_found = "$fails_status" ] && [ ! -s fails.out ] && { read -r _ && ! read -r _; } < fails.err &&
        grep -E -q "$fails_pattern" fails.err; then
        pass "$fails_name"
    else
        fail "$fails_name" "$(echo "expected status $fails_status and one line: $fails_pattern; found $fails_found and"
            head -n 20 fails.out fails.err)"
    fi
}

# ---- a pipeline ----

# The CPU time of the shell's `times` is greater than T by what was used before the first event of sh.
"$dpm" run -o pipe.trace --kinds pipe --report none -- \
    sh -c 'head -c 10000000 /dev/urandom | gzip -c | wc -c; times > times' > size
"$dpm" parallelism --json pipe.trace > pipe.json
check_equal 'the first row' 'one-each max' "$(jq -r '.rows[0] | "\(.assignment) \(.step)"' pipe.json)"
holds 'three steps of three assignments' pipe.json '(.rows | length) == 9'
holds 'T is that of the processes' pipe.json \
    '(.rows[0].T_ns) == ([.processes[].cpu_ns] | add) and .rows[0].T_ns > 100000000'
holds 'the processes are those of the pipeline' pipe.json \
    '[.processes[].name] | contains(["sh", "head", "gzip", "wc"])'
holds 'P lies between 1 and the number of streams, but for waits outside' pipe.json \
    '.rows[0].P >= 0.9 and .rows[0].P <= .trace.streams'
holds 'P is T over t_max' pipe.json \
    'all(.rows[]; ((.P * .tmax_ns - .T_ns) | fabs) < 1000)'
holds 'no machine is quicker than its work' pipe.json \
    'all(.rows[] | select(.assignment == "one-machine" and .step == "sharing"); .tmax_ns >= .T_ns)'
holds 'without delays step delay is step max' pipe.json '.rows[0].tmax_ns == .rows[1].tmax_ns'
holds 'the share of P is that of the streams' pipe.json \
    '.trace.streams as $streams | $streams > 3 and all(.rows[]; (.P_share * $streams - .P | fabs) < 1e-9)'
holds 't_max of each process lies between its CPU time and t_max' pipe.json \
    '.rows[0].tmax_ns as $most | ([.processes[].tmax_ns] | max) == $most and
     all(.processes[]; .cpu_ns <= .tmax_ns and .tmax_ns <= $most)'
for delay in 100us 1ms 10ms; do
    "$dpm" parallelism --json --step delay --remote-delay $delay pipe.trace
done > delays.json
# Much lower if head waited for buffer space at each turn; under ptrace it may be the slowest, and then only the last
# bytes come later.
check_equal 'the more delay between machines, the less P' true "$(jq -s '
    (if .[0].trace.other_arcs > 100 then 0.9 else 1 end) as $less | [.[].rows[] |
    select(.assignment == "one-each" and .step == "delay").P] |
    length == 3 and .[0] >= .[1] and .[1] >= .[2] and .[2] < $less * .[0]' delays.json)"
if [ "$meter" = kernel ]; then
    holds '... where head waits for room' pipe.json '.trace.other_arcs > 100'
fi
check_equal '... on one machine it is the same' 1 "$(jq -s '[.[].rows[] |
    select(.assignment == "one-machine" and .step == "delay").P] | unique | length' delays.json)"
holds 'all messages are exact' pipe.json \
    '.trace.matching.exact > 0 and .trace.matching.unmatched_receives == 0 and .trace.lost == 0'
used=$(awk 'NR == 2 { split($1, user, "[ms]"); split($2, kernel, "[ms]")
                      print (user[1] + kernel[1]) * 60 + user[2] + kernel[2] }' times)
check_equal 'T is what the shell says its children used' near "$(jq -r --argjson used "$used" \
    '([.processes[] | select(.name != "sh") | .cpu_ns] | add) / 1e9 |
     if ((. - $used) | fabs) < 0.05 + $used * 0.05 then "near" else "\(.) and not \($used)" end' pipe.json)"

"$dpm" parallelism pipe.trace > pipe.txt
matches 'a table' '^one-machine +max +[0-9.]+ +[0-9]+ ' pipe.txt
matches 't_max of each process' '^PROCESS +STREAMS +CPU TIME +% +T_MAX +% SYNCHRONOUS$' pipe.txt
matches 'what it rests on' 'Based on [0-9,]+ events, 0 lost; [0-9,]+ edges of messages' pipe.txt
matches 'what it assumes' 'events are assumed to keep their order' pipe.txt

# ---- the thesis' appendix A ----

"$dpm" parallelism --json --edges messages --step appendix-a pipe.trace > appendix.json
holds 'appendix A: a fourth step' appendix.json \
    '[.rows[0:4][].step] == ["max", "delay", "sharing", "appendix-a"] and (.rows | length) == 12'
holds 'appendix A agrees with sharing on one machine without delays, and with a machine for each process' \
    appendix.json 'all(.rows | group_by(.assignment)[] | select(.[0].assignment != "as-recorded");
        (map({(.step): .tmax_ns}) | add) as $at | ($at.sharing - $at["appendix-a"] | fabs) < 1000)'
"$dpm" parallelism --step appendix-a pipe.trace > appendix.txt
matches 'appendix A: what it is' "^Step appendix-a: the thesis' appendix A as printed" appendix.txt
"$dpm" parallelism --step delay --json pipe.trace > delay.json
holds 'without the copy of the graph t_max of processes is unknown' delay.json 'all(.processes[]; .tmax_ns == null)'

# ---- the path itself ----

"$dpm" path --json pipe.trace > path.json
check_equal 'the path is as long as t_max' "$(row max one-each tmax_ns pipe.json)" "$(jq .tmax_ns path.json)"
holds 'and the sum of its parts' path.json '.cpu_ns + .delay_ns + .outside_ns == .path_ns'
holds 'which are those of its processes' path.json \
    '([.processes[].path_cpu_ns] | add) == .cpu_ns and ([.processes[].path_outside_ns] | add) == .outside_ns'
holds 'gzip is most of it' path.json \
    '[.processes[] | select(.name == "gzip")][0] | .path_cpu_ns > 0.9 * .cpu_ns and .slack_ns == 0'
holds 'head is not worth the trouble' path.json \
    'any(.what_if[]; .process == "gzip" and .P > 1.5) and
     ([.processes[] | select(.name == "head", .name == "gzip") | .path_cpu_ns] | min * 10 < max)'
"$dpm" path --what-if gzip=4 --what-if 'head>gzip' --remote-delay 1us --json pipe.trace > if.json
holds 'what was asked' if.json \
    '(.what_if | length) == 2 and .what_if[0].speed == 4 and .what_if[1].to == "gzip" and
     .what_if[0].tmax_ns < 0.5 * .tmax_ns'
"$dpm" path --what-if gzip=0.5 pipe.trace > path.txt
matches 'what makes it longer is negative' '^gzip 0.5 times as fast .* -[0-9]+$' path.txt
"$dpm" path pipe.trace > path.txt
matches 'tables' '^gzip\[[0-9]+\] .* 0 ns$' path.txt
"$dpm" path --folded - pipe.trace > path.folded
holds 'folded stacks add up' path.json \
    "((.path_ns / 1000 - $(awk '{ sum += $NF } END { print sum }' path.folded)) | fabs) < 0.01 * .path_ns / 1000 + 100"
matches 'of frames and a count' '^gzip\[[0-9]+\];[^ ]+ [0-9]+$' path.folded
"$dpm" path --graph path.svg --most 500 pipe.trace > path.txt
matches 'drawn into the history' 'class="(life|arc [a-z]+) critical"' path.svg
"$dpm" path --graph path.dot --most 500 pipe.trace > path.txt
matches 'for Graphviz, too' 'color="#d3182b"' path.dot
"$dpm" path --graph path.gv --most 500 pipe.trace > path.txt
check '... by its other ending, too' cmp path.dot path.gv

holds 'the recording is whole' path.json .trace.complete
cp -r pipe.trace cut.trace
truncate -s -8 cut.trace/control
for command in path parallelism; do
    "$dpm" $command --json cut.trace > cut.json 2> err
    holds "$command: ... or was cut" cut.json '.trace.complete == false'
done

# ---- other machines ----

cat > two.txt << 'END'
# gzip alone
machine fast 1 2
machine slow
gzip fast
*    slow
END
cat > net.txt << 'END'
local  1us
remote 5us+0.01ns/B
slow fast 1:10us,100000:200us
END
"$dpm" parallelism --json --assign two.txt --delays net.txt --cores 2 --per-machine 2 pipe.trace > two.json
check_equal 'assignments as asked for' 'one-each two.txt 2-per-machine' \
    "$(jq -r '[.rows[].assignment] | reduce .[] as $a ([]; if index($a) then . else . + [$a] end) | join(" ")' two.json)"
printf 'machine fast 1 4\n* fast\n' > fast.txt
"$dpm" path --json --assign fast.txt pipe.trace > fast.json
holds 'the path on machines of another speed: its processor time stays that of the recording' fast.json \
    '(.cpu_ns / 4 + .delay_ns + .outside_ns - .path_ns | fabs) < 1e-3 * .path_ns'
holds 'a machine of twice the speed' two.json \
    '[.rows[] | select(.step == "sharing") | .tmax_ns] | .[1] < .[0] * 0.8'
"$dpm" parallelism --json --without gzip --step delay pipe.trace > without.json
"$dpm" parallelism --one-each --json pipe.trace > alone.json
check_equal 'one to each machine alone' one-each "$(jq -r '[.rows[].assignment] | unique | join(" ")' alone.json)"
printf 'machine a\ngzip a\nnosuch a\n* a\n' > nosuch.txt
"$dpm" parallelism --without nobody --without head --assign nosuch.txt pipe.trace > nosuch.out 2> nosuch.err
check_equal 'an unknown process is named' "0 dpm: note: --without: no process nobody in the traces
dpm: note: --assign: no process nosuch in the traces" "$? $(cat nosuch.err)"
printf 'machine a\ngzip a\n* a\n' > gzip.txt
printf 'a b 1ms\na a 2ms\nlocal 1us\n' > nosuch.delays
"$dpm" parallelism --assign gzip.txt --delays nosuch.delays pipe.trace > nosuch.out 2> nosuch.err
check_equal 'machines that are not there are named' "0 dpm: note: --delays: no machines a and b in the traces" "$? $(cat nosuch.err)"
"$dpm" parallelism --without gzip --assign gzip.txt pipe.trace > nosuch.out 2> nosuch.err
check_equal 'who is left out is there' "0 " "$? $(cat nosuch.err)"
# The path of the processes that remain is the one that parallelism computes.
"$dpm" path --json --without gzip --without nobody pipe.trace > left.json 2> nosuch.err
holds 'the path without a process' left.json "all(.processes[]; .name != \"gzip\") and .tmax_ns == $(
    jq '[.rows[] | select(.step == "max")][0].tmax_ns' without.json)"
check_equal '... and an unknown process is named' 'dpm: note: --without: no process nobody in the traces' \
    "$(cat nosuch.err)"
"$dpm" path --assign nosuch.txt pipe.trace > nosuch.out 2> nosuch.err
check_equal '... of the path, too' "0 dpm: note: --assign: no process nosuch in the traces" "$? $(cat nosuch.err)"
holds 'without one of them' without.json \
    '([.processes[].name] | index("gzip")) == null and ([.rows[].step] | index("sharing")) == null'
"$dpm" parallelism --json --edges messages pipe.trace > messages.json
holds 'arcs of messages only' messages.json \
    '.trace.other_arcs == 0 and .trace.asleep.count == 0 and .trace.messages_only'
"$dpm" parallelism --json --each pipe.trace pipe.trace > each.json
holds 'several runs' each.json \
    '.trace.runs == 2 and all(.rows[]; .P_least == .P and .P_greatest == .P)'
"$dpm" run -o other.trace --kinds pipe --report none -- \
    sh -c 'head -c 5000000 /dev/urandom | gzip -1 | gzip -1 | wc -c' > size
"$dpm" parallelism --json other.trace > other.json
"$dpm" parallelism --json --each pipe.trace other.trace > each-other.json
check_equal 'several runs that differ: each row has the least and the greatest P' true "$(jq -s \
    '.[0].rows as $one | .[1].rows as $other | .[2].rows as $both | ($both | length) == 9 and
     $one[0].P != $other[0].P and all(range(9); . as $i | [$one[$i].P, $other[$i].P] as $each |
         $both[$i].P_least == ($each | min) and $both[$i].P_greatest == ($each | max) and
         $both[$i].P_least <= $both[$i].P and $both[$i].P <= $both[$i].P_greatest)' \
    pipe.json other.json each-other.json)"
check_equal 'several runs, first row' "$(row max one-each tmax_ns pipe.json)" "$(row max one-each tmax_ns each.json)"

# ---- a good assignment ----

"$dpm" parallelism --json --search 2 --local-delay 1us --remote-delay 1ms pipe.trace > search.json
holds 'a machine for each process' search.json \
    '(.searches | length) == 1 and (.searches[0].machines | length) == (.processes | length) and
     all(.searches[0].machines[]; . == 0 or . == 1) and .searches[0].tried >= 1'
holds 'as long as its row says' search.json \
    '.searches[0] as $found | [.rows[] | select(.assignment == $found.assignment and .step == "sharing").tmax_ns] ==
     [$found.tmax_ns] and $found.bound_ns <= $found.tmax_ns'
# the same machines, as a file
jq -r '"machine m0\nmachine m1", (.searches[0].machines as $machines | .processes | to_entries[] |
    "\(.value.pid) m\($machines[.key])")' search.json > found.txt
"$dpm" parallelism --json --assign found.txt --local-delay 1us --remote-delay 1ms pipe.trace > found.json
check_equal 'as long as the same assignment from a file' "$(jq '.searches[0].tmax_ns' search.json)" \
    "$(row sharing found.txt tmax_ns found.json)"
"$dpm" parallelism --json --one-machine --local-delay 1us --remote-delay 1ms pipe.trace > one.json
check 'no longer than on one machine' test "$(jq '.searches[0].tmax_ns' search.json)" -le "$(row sharing one-machine tmax_ns one.json)"
"$dpm" parallelism --search 2 --local-delay 1us --remote-delay 1ms pipe.trace > search.txt
check_equal 'in words: how good it is, and which processes are together' "$(jq -r '.searches[0] as $found | .processes as $processes |
    "search-2 (best of \($found.tried) tried; ", ([range($processes | length)] | group_by($found.machines[.])[] |
    "  " + (map($processes[.] | "\(.name)[\(.pid)]") | join(", ")))' search.json)" \
    "$(sed -n '/^search-2 (/,/^$/p' search.txt | sed '1s/tried; .*/tried; /; /^$/d')"
jq '.searches[0] | (.tmax_ns - .bound_ns) / .bound_ns * 100' search.json > above
sed -n 's/^search-2 (.*; at most \([0-9.<]*\)% longer than the best possible):$/\1/p' search.txt |
    sed 's/^<0.1$/0.05/' >> above
# one decimal below ten, none above
check "... in per cent above the bound ($(paste -sd ' ' above))" awk '{ percent[NR] = $1 }
    END { away = percent[1] - percent[2]; half = percent[1] < 10 ? 0.051 : 0.501
          exit !(NR == 2 && away <= half && -away <= half) }' above

# ---- measured delays ----

"$dpm" run -o tsp.trace --kinds tcp --report none -- "$1/examples/tsp/tsp" --cities 8 --servers 2 > /dev/null
"$dpm" parallelism --json --seen-delays tsp.trace > seen.json 2> seen.err
if only_kernel 'what they are' "it has no MESSAGEQUEUED"; then
    matches 'what they are' '^dpm: local messages took [0-9.]+ [num]s from SEND to MESSAGEQUEUED .median of' seen.err
    holds 'they count' seen.json '[.rows[] | select(.assignment == "one-machine") | .tmax_ns] | .[1] > .[0]'
fi
matches 'and what they are not' '^dpm: no remote message has a measured delay' seen.err

# ---- threads ----

if command -v python3 > /dev/null; then
    cat > threads.py << 'END'
import os, threading, zlib
work = os.urandom(4000000)
threads = [threading.Thread(target=zlib.compress, args=(work,)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
    "$dpm" run -o threads.trace --kinds pipe --report none -- python3 threads.py
    "$dpm" parallelism --json threads.trace > threads.json
    holds 'each thread a stream, or each process' threads.json \
        '.rows[0].P_processes < .rows[0].P and any(.processes[]; .streams == 3)'
else
    skip 'each thread a stream, or each process' 'python3 is not installed'
fi

# ---- which senders wait at once for an answer, and on which path ----

# (at 10 Hz, its usual clock, WAIT takes up to 100 ms longer)
first=$(free_port)
redis-server --hz 500 --port "$first" --save "" --appendonly no > first.out 2>&1 &
first_pid=$!
second=$(free_port)
redis-server --hz 500 --port "$second" --save "" --appendonly no > second.out 2>&1 &
second_pid=$!
wait_for 30 redis-cli -p "$first" ping && wait_for 30 redis-cli -p "$second" ping
# asks the first and waits, asks the second and works before it checks for the answer
cat > asks.sh << 'END'
exec 3<> "/dev/tcp/127.0.0.1/$1" 4<> "/dev/tcp/127.0.0.1/$2"
for i in {1..40}; do
    echo "WAIT 1 3" >&3 # no replica answers
    read -r answer <&3
    echo "WAIT 1 3" >&4
    for ((k = 0; k < 10000; k++)); do :; done
    read -r answer <&4
done
END
"$dpm" run -o asks.trace --kinds tcp --report none -- bash asks.sh "$first" "$second"
kill $first_pid $second_pid
"$dpm" parallelism --json asks.trace > asks.json
holds 'a turn for each question, by both paths' asks.json \
    "[.paths[] | select(.address == (\"127.0.0.1:$first\", \"127.0.0.1:$second\")) | .turns] == [40, 40]"
holds 'the first is synchronous' asks.json \
    ".paths[] | select(.address == \"127.0.0.1:$first\") | .synchronous >= 30 and .process == \"bash\""
holds 'the second is not' asks.json \
    ".paths[] | select(.address == \"127.0.0.1:$second\") | .synchronous <= 4"
for trace in asks tsp pipe; do
    "$dpm" parallelism --json $trace.trace > sum.json
    holds "paths add up to processes: $trace" sum.json \
        '([.paths[].turns, .other_paths.turns] | add) == ([.processes[].turns] | add) and
         ([.paths[].synchronous, .other_paths.synchronous] | add) == ([.processes[].synchronous] | add)'
done
"$dpm" parallelism asks.trace > asks.txt
matches 'a line of text' "^bash\[[0-9]+\] +tcp +127.0.0.1:$second +40 +" asks.txt

# ---- a server with a timer: sleeping takes its time ----

"$dpm" run -o sleep.trace --kinds pipe --report none -- sh -c 'sleep 0.3; sleep 0.2'
"$dpm" parallelism --json sleep.trace > sleep.json
holds 'two sleeps, one after the other' sleep.json \
    '.rows[0].tmax_ns > 490000000 and .rows[0].tmax_ns < 1.1 * .trace.duration_ns'
# but for the time when no processor was to be had
"$dpm" why --json sleep.trace > sleep-why.json
holds 'as long as it took' sleep.json \
    ".trace.duration_ns as \$duration | ((\$duration - .rows[2].tmax_ns) | . < 0.1 * \$duration + $(jq '.spent_on_ns | .no_cpu + .unknown' sleep-why.json) and . > -0.1 * \$duration)"

# ---- during a recording ----

"$dpm" run -o live.trace --kinds pipe --report none -- \
    sh -c 'for i in $(seq 100); do seq 100000 | gzip -c | wc -c; sleep 0.2; [ ! -e enough ] || exit 0; done' \
    > /dev/null &
live_pid=$!
has_received() {
    "$dpm" dump --type receive --process wc live.trace 2> dump.err | grep -q .
}
wait_for 30 has_received
"$dpm" parallelism --json live.trace > live.json 2> live.err
"$dpm" path --json live.trace > live-path.json 2> live-path.err
"$dpm" causality --json --server gzip,wc live.trace > live-causality.json 2> live-causality.err
: > enough
wait $live_pid
matches 'it is said to go on' '^dpm: live.trace is still being recorded' live.err
holds 'T and P of what there is' live.json '.rows[0].T_ns > 0 and .rows[0].P > 0 and .trace.lost == 0'
matches 'the path of what there is' '^dpm: live.trace is still being recorded' live-path.err
holds '... which goes through it' live-path.json '.tmax_ns > 0 and any(.processes[]; .name == "gzip")'
holds 'strings of what there is' live-causality.json 'any(.strings[]; .count > 0)'
"$dpm" parallelism --json live.trace > live.json 2> live.err
check_equal 'not when it has ended' '' "$(cat live.err)"

# ---- errors ----

fails 'no trace' 2 'name a trace' "$dpm" parallelism
fails 'no such trace' 1 'nowhere' "$dpm" parallelism nowhere
fails 'no delay' 2 'give a delay' "$dpm" parallelism --remote-delay fast pipe.trace
fails 'a table that falls' 2 'give a delay' "$dpm" parallelism --remote-delay 10:1ms,5:2ms pipe.trace
fails 'no number' 2 'give a number from 1' "$dpm" parallelism --per-machine 0 pipe.trace
fails 'no such step' 2 'choose one of delay, sharing' "$dpm" parallelism --step none pipe.trace
fails 'a search without what it makes short' 2 'search needs --step sharing' \
    "$dpm" parallelism --search 2 --step delay pipe.trace
fails 'no file' 1 'cannot be read' "$dpm" parallelism --assign missing.txt pipe.trace
fails 'a directory' 1 '^dpm: .: cannot be read: Is a directory$' "$dpm" parallelism --assign . pipe.trace
for option in --assign --delays; do
    fails "$option: a line without end" 1 '^dpm: /dev/zero:1: give lines of less than 64 KiB of text$' \
        timeout 60 "$dpm" parallelism $option /dev/zero pipe.trace
done
echo 'gzip nowhere' > bad.txt
fails 'no such machine' 1 'bad.txt:1: give machine NAME' "$dpm" parallelism --assign bad.txt pipe.trace
printf 'machine a 0\n' > bad.txt
fails 'no cores' 1 'bad.txt:1: give a number of cores' "$dpm" parallelism --assign bad.txt pipe.trace
: > bad.txt
fails 'no machine' 1 'no line' "$dpm" parallelism --assign bad.txt pipe.trace
echo 'local often' > bad.txt
fails 'bad delays' 1 'bad.txt:1: give local DELAY' "$dpm" parallelism --delays bad.txt pipe.trace
fails 'no such process' 1 'no process of the traces is nobody' "$dpm" path --what-if nobody=2 pipe.trace
fails 'no speed' 2 'give NAME=SPEED' "$dpm" path --what-if gzip=fast pipe.trace
fails 'no file for the picture' 2 'the suffix .svg, .dot or .gv' "$dpm" path --graph - pipe.trace
fails 'no kind of picture' 2 '[-]-graph x.png: use a file name with the suffix .svg, .dot or .gv' \
    "$dpm" path --graph x.png pipe.trace
fails '--most of no picture' 2 '[-]-most needs --graph' "$dpm" path --most 5 pipe.trace
fails 'two results into one output' 2 '[-]-json and --folded -: give only one' "$dpm" path --json --folded - pipe.trace
fails 'two assignments' 2 '[-]-as-recorded, --one-machine and --assign: give only one' \
    "$dpm" path --one-machine --as-recorded pipe.trace
fails 'no room for the picture' 1 'cannot be written' "$dpm" path --json --graph /nowhere/a.svg pipe.trace
ln -s /dev/full full.svg
fails 'a full disk' 1 'full.svg: cannot be written: No space left' "$dpm" path --json --graph full.svg pipe.trace
sh -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' sh "$dpm" graph -o half.svg pipe.trace > half.out 2> half.err
matches 'a file that gets too large' 'half.svg: cannot be written: File too large' half.err
check_not '... is not left half' test -e half.svg
fails 'no room' 1 'no temporary file can be made there.*set TMPDIR' env TMPDIR=/nowhere "$dpm" parallelism pipe.trace

finish
