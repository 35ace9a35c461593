#!/bin/sh
# SPDX-License-Identifier: MIT
# view_test.sh BUILD_FOLDER: `dpm view`: views over the traces of sample_trace.c, whose figures must be those of dpm stats;
# plans; queries; errors.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"

cat > all.view << 'EOF_'
VIEW DEF Senders (bytes: process[*].sent, pid: process[*].Process-Id)
    ACTIVE WHEN process[*].sent > 0;
    NOTIFY 119 OF someone@example.org WITHIN 1 S;
END VIEW DEF
VIEW DEF Client (cpu: process["client"].cpu, sum: process[200].sent + process["server"].sent)
    ACTIVE WHEN process["client"].cpu > 0 AND (process["client"].state <> "lost");
END VIEW DEF
VIEW DEF Pair (b: Communicates-With["client","server"].bytes)
    ACTIVE WHEN Communicates-With["client","server"].bytes > 0;
END VIEW DEF
VIEW DEF Never (a: process[*].sent) ACTIVE WHEN process[*].sent < 0; END VIEW DEF
VIEW DEF Nobody (a: nobody.x) ACTIVE WHEN nobody.x > 1; END VIEW DEF
EOF_

# ---- watch ----

runs "views over a trace" "$dpm" view --json --every 1h --save saved.db watch all.view alpha
cp out json
check "... notes what does not exist" grep -qx 'dpm: note: view Nobody: nobody: there is none yet' err
check "... reports losses" grep -qx 'dpm: alpha: 3 records were lost' err
"$dpm" stats --json alpha > stats.json 2> err
"$dpm" dump --json alpha 2> err | jq -s 'map(.time_ns) | max - min' > duration # from the first record, one of the meter's start
check_equal "bytes per second are those that dpm stats counts, over all records" \
    "$(jq -r --slurpfile duration duration '$duration[0] as $d | .processes[] | select(.pid != null and .pid > 0 and .sent.bytes > 0)
        | "\(.pid) \((.sent.bytes / ($d / 1e9)) | round)"' stats.json | sort)" \
    "$(jq -r 'select(.view == "Senders" and .change == "active")
        | "\(.values.pid | round) \(.values.bytes | round)"' json | sort)"
check_equal "each row is notified, as the view says" 'example.org' \
    "$(jq -r 'select(.view == "Senders") | .notify.host | sub(".*@"; "")' json | sort -u)"
check_equal "an arithmetic value" true "$(jq -s '([.[] | select(.view == "Senders" and
    (.values.pid == 200 or .values.pid == 100)).values.bytes] | add) as $sum |
    ([.[] | select(.view == "Client").values.sum][0] - $sum) | fabs < 1e-6' json)"
check_equal "a view that never holds has no line" '' "$(jq -r 'select(.view == "Never")' json)"

runs "shorter intervals" "$dpm" view --every 5ms watch all.view alpha
check "... lines as text: active, with values and notification" \
    grep -q '^ *0\.0[0-9]* s  Senders\[client 200\]  active  bytes: [0-9.e+]*  pid: 200  -> someone@example.org port 119$' out
check "... inactive" grep -q 'Senders\[client 200\]  inactive$' out
"$dpm" view --every 5ms watch all.view alpha > again 2> err
check "... always the same" cmp out again

# ticks SHARE: how many times the lines have, with intervals of this share of the trace.
ticks() {
    "$dpm" view --json --every "$(awk -v share="$1" '{ printf "%.9fs", $1 * share / 1e9 }' duration)" watch all.view alpha 2> err |
        jq .since_begin | sort -u | wc -l
}
check_equal "a last interval of less than half ..." 1 "$(ticks 0.7)"
check_equal "... is left out, a longer one is not" 2 "$(ticks 0.6)"

# ---- while a command runs; with ptrace, which needs no privilege ----

echo 'VIEW DEF Sends (f: process[*].frequency) ACTIVE WHEN process[*].frequency > 0; END VIEW DEF' > sends.view
"$dpm" run --meter ptrace --store none --views sends.view --interval 100ms --report lines -- \
    sh -c 'echo abc | cat; exit 3' > out 2> err
check_equal "the command's exit status" 3 $?
check "views of a command that runs" grep -q '^ *[0-9.]* s  Sends\[sh [0-9]*\]  active  f: ' lines
start=$(date +%s)
"$dpm" run --meter ptrace --flags 'send receive' --store none --views sends.view --interval 100ms --report lines -- \
    sh -c 'echo abc | cat; sleep 4; echo abc | cat' > out 2> err
elapsed=$(($(date +%s) - start + 1))
check "after seconds without any record, times are still those of the records" \
    awk -v most="$elapsed" '$3 ~ /^Sends/ { lines++; late += $1 > most } END { exit !lines || late }' lines
echo 'VIEW DEF Pairs (f: Communicates-With[*].frequency) ACTIVE WHEN Communicates-With[*].frequency > 0; END VIEW DEF' > pairs.view
runs "each relationship" "$dpm" view --every 1h watch pairs.view alpha
check "... has the numbers of both processes" grep -qE 'Pairs\[client 200 -> server [0-9]+\]  active' out
fails "views that do not exist: the command does not run" 1 'none.view: No such file' \
    "$dpm" view watch none.view -- touch ran
check_not "... indeed" test -e ran
fails "a command goes with neither --json ..." 2 'view: --json and --save need traces' \
    "$dpm" view --json watch sends.view -- true

runs "'--' before traces" "$dpm" view --every 1h -- watch all.view alpha
check "... starts no command" grep -q 'Senders' out

# ---- sql ----

runs "a query on the saved database" "$dpm" view sql saved.db \
    'SELECT name, "Process-Id" AS pid FROM process WHERE number = 200'
check_equal "... has columns and rows" "$(printf 'name\tpid\nclient\t200.0')" "$(cat out)"
runs "a view is a table" "$dpm" view sql saved.db 'SELECT count(*) FROM Senders'
fails "a query that changes something" 1 'the query: not authorized' "$dpm" view sql saved.db 'DROP TABLE stored'
fails "a wrong query" 1 'the query: .*syntax error' "$dpm" view sql saved.db 'SELEKT 1'
fails "a file that is no database" 1 'all.view: .*' "$dpm" view sql all.view 'SELECT 1'
fails "a database that does not exist" 1 'none.db: .*' "$dpm" view sql none.db 'SELECT 1'
echo 'VIEW DEF Never (a: 1) ACTIVE WHEN 1 > 2; END VIEW DEF' > never.view
mkfifo pipe
: < pipe &
exec 5> pipe
wait $! # now the reader has ended
env --default-signal=PIPE "$dpm" view --json --every 1h --save piped.db watch all.view alpha 2> err >&5
check_equal "if nobody reads the lines, SIGPIPE ends it, and the database is saved" \
    "141 $("$dpm" view sql saved.db 'SELECT count(*) FROM Senders' | tail -n 1)" \
    "$? $("$dpm" view sql piped.db 'SELECT count(*) FROM Senders' | tail -n 1)"
exec 5>&-
rm pipe
fails "a database that cannot be written" 1 '/proc/x.db: .*' "$dpm" view --every 1h --save /proc/x.db watch never.view alpha

# ---- explain ----

cat > two.view << 'EOF_'
VIEW DEF Both (size: Q[1].n) ACTIVE WHEN (Q[1].n > 24) AND (Q[2].n > 24);
CORRECT TO WITHIN 25 MS; NOTIFY 119 OF h WITHIN 1000 MS; END VIEW DEF
EOF_
cat > two.costs << 'EOF_'
message machine 3ms send 1ms # as in the paper
message network 10ms send 1ms
receive 0.5ms
subnet a sun1
subnet b sun2
central sun2
place Q[1] sun1
place Q[2] sun2
EOF_
runs "plans" "$dpm" view --costs two.costs explain two.view
check "... how many" grep -q '1944 in all, 140 keep the meaning' out
check "... the chosen one first" grep -q '^-> 1, chosen$' out
runs "plans as JSON" "$dpm" view --costs two.costs --json explain two.view
check_equal "... the same" '1944 24 traced sensor' \
    "$(jq -r '"\(.plans + 0) \(.groups | length) \(.groups[0].instances[0].collection) \(.groups[0].instances[0].evaluated)"' out)"
sed 's/25 MS/1 MS/' two.view > late.view
runs "a view that no plan can satisfy" "$dpm" view --costs two.costs explain late.view
check "... says how far off the quickest is" grep -q 'none is in time: the values of the quickest one are up to' out

echo 'VIEW DEF V (a: 1) ACTIVE WHEN machine.cpu > 1; END VIEW DEF' > figures.view
runs "plans for figures" "$dpm" view explain figures.view
check "... say so" grep -q '^ *machine: figures of each interval, condition in the resident monitor' out
runs "... as JSON" "$dpm" view --json explain figures.view
check_equal "... too" figures "$(jq -r '.groups[0].instances[0].collection' out)"

# ---- errors ----

echo 'VIEW DEF V (a: Q.n) ACTIVE WEN Q.n > 1; END VIEW DEF' > wrong.view
fails "a wrong view" 1 "wrong.view:1:28: found 'WEN', expected WHEN" "$dpm" view watch wrong.view alpha
echo 'massage machine 3ms' > wrong.costs
fails "wrong costs" 1 "wrong.costs:1: found 'massage', expected message" "$dpm" view --costs wrong.costs explain two.view
echo 'VIEW DEF V (a: process[*].cpu) ACTIVE WHEN process[*].cpus > 1; END VIEW DEF' > wrong.view
fails "an attribute that DPM's own objects have not" 1 \
    "view V, line 1: the built-in object process has no attribute cpus" "$dpm" view watch wrong.view alpha
echo 'VIEW DEF machine (a: 1) ACTIVE WHEN 1 < 2; END VIEW DEF' > built.view
fails "a view with the name of a built-in type" 1 'view machine: this name is that of a built-in type' \
    "$dpm" view watch built.view alpha
fails "... before a command runs" 1 'view machine: this name is that of a built-in type' \
    "$dpm" view watch built.view -- touch ran
check_not "... indeed" test -e ran
fails "an option that explain does not take" 2 'view: explain does not take --save' "$dpm" view --save x explain two.view
fails "... or watch" 2 'view: watch does not take --costs' "$dpm" view --costs two.costs watch all.view alpha
fails "... or sql" 2 'view: sql does not take --json' "$dpm" view --json sql saved.db 'SELECT 1'
fails "no action" 2 "view: ''" "$dpm" view
fails "no trace" 2 'view: watch: give' "$dpm" view watch all.view
fails "no file" 1 'none.view: No such file' "$dpm" view explain none.view
refuses_what_is_no_trace view watch all.view
cannot_print "dpm view explain" "$dpm" view --costs two.costs explain two.view
finish
