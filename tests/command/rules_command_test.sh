#!/bin/sh
# SPDX-License-Identifier: MIT
# rules_command_test.sh BUILD_FOLDER: `dpm rules check`, `dpm filter --rules` and `dpm run --rules` from outside: what they print,
# and that traces and results say what was removed. rules_test.c and rules_places_test.c check the verdicts.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/sample.sh"

# ---- dpm rules check ----

cat > good.rules << 'END'
# large ones
type=send, bytes>1K, process=ser*, PC=#*;
type=receive; channel=3;
END
runs "rules are explained" "$dpm" rules check good.rules
check_equal "... in words, with the line, the types and what is discarded" \
    "Rule 1, line 2: SEND
 type is SEND (type of the event) kernel: first
 bytes is more than 1024 (bytes of the message) kernel: each record
 process is \"ser*\" (name or pid of the process) kernel: each thread once
 the record has PC (user program counter); it is discarded filter: each record
 discards PC of SEND

Rule 2, line 3: RECEIVE
 type is RECEIVE (type of the event) kernel: first

Rule 3, line 3: accepts nothing: no type of event has all these fields
 no record of DPM has the field channel never true" "$(squeeze < out | sed '/^A record/,$d; $d' | sed '$d')"
: > none.rules
runs "no rules" "$dpm" rules check none.rules
check_equal "... accept everything" "No rules: everything is accepted." "$(cat out)"
cat > meant.rules << 'END'
size>10, size<5;
size>=4, size<=4, bytes<9;
type=8, code=3;
type=connect;
size>0, size<1;
END
"$dpm" rules check meant.rules > out
check_equal "what is likely not meant so is noted" "    note: the rule accepts nothing: no size fulfils all its conditions
    note: 8 is DPM's own number of CONNECT; other systems, and the papers' figures, number types in other ways
    note: code is a signal's here; the code of a message in the papers' figures is in no trace of DPM's own
    note: the rule accepts nothing: no size fulfils all its conditions" "$(grep note: out)"
echo 'type=send' > open.rules
fails "a mistake has a line and a column" 1 \
    "open.rules:2:1: the text ends: expected ',' and another condition, or ';'" "$dpm" rules check open.rules
fails "a file that does not exist" 1 'nowhere: cannot be opened: No such file' "$dpm" rules check nowhere
fails "a directory" 1 'alpha: cannot be read: Is a directory' "$dpm" rules check alpha
fails "no file" 2 'rules: say what to do, and name one file: check FILE' "$dpm" rules check
fails "another word" 2 'rules: say what to do' "$dpm" rules explain good.rules
cannot_print "rules check" "$dpm" rules check good.rules

# ---- dpm filter --rules ----

# events TRACE: its events, without identities and what the recording says of itself
events() {
    "$dpm" dump "$1" 2> dump.err | grep -vE ' (MACHINE|STREAM|PATH|IMAGE|MODULE|PROCEDURE|NAME|FLAGS|CLASS|LOST|DISCARDED|DROPPED|NETWORK|COST|SUMMARY|CGROUP|END) '
}

echo 'type=send;' > send.rules
runs "a trace is filtered" "$dpm" filter --rules send.rules alpha -o sends
sends=$(events alpha | grep -c ' SEND ')
others=$(events alpha | grep -vc ' SEND ')
check_equal "... and says how much was selected" \
    "dpm: alpha: $sends events selected, $others events not selected; written to sends" "$(tail -n 1 err)"
check "... losses of the trace are reported" grep -q 'alpha: 3 records were lost' err
check_equal "it has the sends alone, unchanged, with their wall-clock times" \
    "$(events alpha | grep ' SEND ')" "$(events sends)"
# two records of alpha had been removed before
check "it says what was removed" grep -qx \
    "dpm: sends: selection rules removed $((others + 2)) events: results cover only the others" dump.err
check "it has lost what its original has lost" grep -qx 'dpm: sends: 3 records were lost' dump.err
for type in machine stream path image name summary cgroup network dropped; do
    check_equal "every $type is kept" "$("$dpm" dump --type $type alpha 2> err | sed 's/ meter flags.*//')" \
        "$("$dpm" dump --type $type sends 2> err | grep -v ' rule 1 is ' | sed 's/ meter flags.*//')"
done
check_equal "the trace has the rule" 'rule 1 is type=send' \
    "$("$dpm" dump --type name sends 2> err | sed -n 's/.*\(rule .*\)/\1/p')"
check_equal "... and counts what it removed" "$((others + 2))" \
    "$("$dpm" dump --json --type discarded sends 2> err | jq -s 'map(.count) | add')"
if command -v babeltrace2 > babel; then
    check "babeltrace2 reads it" babeltrace2 sends
fi
"$dpm" report alpha > whole 2> err
"$dpm" report sends > report 2> err
check "a report of everything has findings on waits and parallelism" grep -qE '^(Parallelism|Waits|Path|Time) ' whole
check_not "... of a selection it has none: waits for what was removed have no reason" \
    grep -E '^(Parallelism|Waits|Path|Time) ' report
"$dpm" dump --type flags sends > flags 2> err
check "flags of types that no rule accepts are off" grep -q 'flags send,summary' flags
echo 'type=send; type=receive, bytes>1G;' > unreceived.rules
runs "receives are removed by their size" "$dpm" filter -r unreceived.rules alpha -o unreceived
"$dpm" stats --json unreceived > stats.json 2> err
check_equal "queues are unknown, and what was not received: receives may have been removed" null \
    "$(jq -c '[.processes[].queue, .paths[].queue] | unique[]' stats.json)"
echo 'type=receive;' > receives.rules
runs "receives alone" "$dpm" filter -r receives.rules alpha -o receives
check_equal "... count the bytes where they are received" \
    "$("$dpm" dump --json --type receive receives 2> err | jq -s 'map(.bytes) | add')" \
    "$("$dpm" stats --json receives 2> err | jq '[.pairs[].bytes] | add')"
runs "an empty file of rules" "$dpm" filter -r none.rules alpha -o same
check_equal "... keeps everything" "$(events alpha)" "$(events same)"
runs "the result is filtered again" "$dpm" filter -r good.rules sends -o again
check_equal "... and has all rules, the later ones first" \
    'rule 1 is type=send, bytes>1K, process=ser*, PC=#*
rule 2 is type=receive
rule 3 is channel=3
rule 4 is type=send' "$("$dpm" dump --type name again 2> err | sed -n 's/.*\(rule .*\)/\1/p')"

fails "the output exists" 1 'sends: cannot be created: File exists; remove it' "$dpm" filter -r send.rules alpha -o sends
fails "no output" 2 'filter: name the trace to write: -o TRACE2' "$dpm" filter -r send.rules alpha
fails "no trace" 2 'filter: name a trace' "$dpm" filter -r send.rules -o new
fails "wrong rules" 1 'open.rules:2:1: the text ends' "$dpm" filter -r open.rules alpha -o new
fails "rules, and nothing is stored" 2 'filter: --rules goes with --store all only' \
    "$dpm" filter -r send.rules --store none --from shop
refuses_what_is_no_trace filter -r send.rules -o new
check_not "a failure leaves nothing behind" test -e new
mkdir several
cp -r alpha beta several
runs "a directory of traces" "$dpm" filter -r send.rules several -o several2
check_equal "... becomes one of traces" "alpha beta" "$(find several2 -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs)"
copy cut
cut_end cut
runs "a trace that was cut" "$dpm" filter -r send.rules cut -o cut2
"$dpm" dump cut2 > out 2> err
check "... does not become whole" grep -q 'cut2 was cut and repaired: its last records are missing' err

# ---- fields that were discarded ----

echo 'type=send, bytes=#*; type=receive, procTime=#*; type=receivecall;' > fields.rules
runs "fields are discarded" "$dpm" filter -r fields.rules alpha -o fields
check_equal "they are absent" "true" \
    "$("$dpm" dump --json --type send fields 2> err | jq -s 'map(has("bytes") or (.absent != ["bytes"])) | any | not')"
"$dpm" stats fields > out 2> err
check "results say what they miss, and which rule removed it" grep -q \
    "^dpm: fields: $sends SEND lack bytes, removed by rule 1, 'type=send, bytes=#\*': results are without these events$" err
check "... and where it matters less" grep -q \
    "RECEIVE lack procTime, removed by rule 2, .*: CPU time counts with the thread's next event that has it$" err
check_equal "a receive whose send is without bytes is unselected" "0" \
    "$("$dpm" stats --json fields 2> err | jq '.trace.matching.unmatched_receives + .trace.matching.unmatched_sends + .trace.matching.exact')"

cat > ends.rules << 'END'
type=termination, status=#*, failedSends=#*, failedReceives=#*;
type=destroypath, offset=#*, bytes=#*, span=#*;
type=*;
END
runs "ends lack their fields" "$dpm" filter -r ends.rules alpha -o ends
check_equal "... and still count as events and as ends, not as removed" \
    "$("$dpm" stats --json alpha 2> err | jq -c '[.trace.events, [.processes[].ended]]')" \
    "$("$dpm" stats --json ends 2> err | jq -c '[.trace.events, [.processes[].ended]]')"
check_equal "... and are there" "$("$dpm" dump --type destroypath,termination alpha 2> err | wc -l)" \
    "$("$dpm" dump --type destroypath,termination ends 2> err | wc -l)"
check_equal "... but rules might have removed some: how many connections ended is not known" null \
    "$("$dpm" stats --json ends 2> err | jq .trace.ended)"
check "... what is unknown is said" \
    grep -q 'TERMINATION lack status, failedSends, failedReceives, removed by rule 1, .*: failed calls, .* are unknown in results$' err

# ---- rules that keep some of the sends, and all receives ----

echo 'type=send, bytes>50; type=receive;' > some.rules
runs "large sends are kept, and all receives" "$dpm" filter -r some.rules alpha -o some
# of connections whose users are known without the sends that were removed
traffic() {
    "$dpm" stats --json "$1" 2> err | jq -c '[.pairs[] | select(.from == 2) | [.to, .messages, .bytes, .size.max]][:3]'
}
check_equal "what was received counts as sent" "$(traffic alpha)" "$(traffic some)"
"$dpm" causality some > out 2> err
check "causality: their senders are unselected" grep -q '^7 receives of server processes were sent by events that were not selected\.$' out
check_not "... not unknown" grep 'of server processes have no known sender' out
check "... and what that means" grep -q '^Selection rules removed events: a request whose messages' out
for command in why path parallelism; do
    "$dpm" $command some > out 2> err
    check "$command says what the rules mean for its result" grep -q '^Selection rules removed events: ' out
done

# ---- while recording ----

if ! was_found && [ -z "$(find_meter; echo "$meter")" ]; then
    skip "dpm run --rules" "no meter runs here"
    finish
fi
find_meter
echo 'type=receive, process=wc; type=termination;' > wc.rules
runs "dpm run --rules" "$dpm" run --rules wc.rules -o run.trace -- sh -c 'seq 20000 | cat | wc -c'
check "it says how much was selected" grep -q '^dpm: rules: [1-9][0-9]* events selected, [1-9][0-9]* not: ' err
check_equal "it has these events alone" "RECEIVE TERMINATION" \
    "$("$dpm" dump --json run.trace 2> err | jq -r '.event' | grep -vE 'MACHINE|STREAM|PATH|IMAGE|MODULE|PROCEDURE|NAME|FLAGS|DISCARDED|COST|SUMMARY|CGROUP|NETWORK|END|LOST' | sort -u | xargs)"
check_equal "it has all that wc received" 108894 \
    "$("$dpm" dump --json --type receive run.trace 2> err | jq -s 'map(.bytes) | add')"
"$dpm" stats --json run.trace > stats.json 2> err
check_equal "its receives are unselected: their sends were removed" "true 0" \
    "$(jq -r '"\(.trace.matching.unselected > 0) \(.trace.matching.unmatched_receives + .trace.matching.external)"' stats.json)"
check_equal "no number is missing: each thread's events are kept, or counted as removed" "" \
    "$("$dpm" dump --json run.trace 2> err | jq -rs '
        group_by(.stream) | .[] | select(.[0].stream > 0)
        | [.[] | select(.sequence != null and .event != "DISCARDED")] as $kept
        | ([.[] | select(.event == "DISCARDED") | .count] | add) as $removed
        | ([.[] | select(.event == "TERMINATION") | .sequence][0]) as $last
        | select($last != null and $last + 1 != ($kept | length) + ($removed // 0))
        | "stream \(.[0].stream)"')"
fails "wrong rules while recording" 1 'open.rules:2:1' "$dpm" run -r open.rules -- true
finish
