#!/bin/sh
# SPDX-License-Identifier: MIT
# top_test.sh BUILD_FOLDER: `dpm top` of traces, on a terminal (tmux) and without one: keys, sizes, 5,000 processes, hostile
# names, a terminal that is killed. top_meter_test.sh has running processes.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
. "$tests/sample.sh"
. "$tests/terminal_pane.sh"

mkdir many
"$build/bench/generate" --records 60000 --processes 5000 --paths 5000 many/a many/b > /dev/null

# ---- without a terminal ----

"$dpm" top --interval 10ms alpha > text 2> err
check_equal "without a terminal it prints text, and ends with the trace" 0 $?
check_equal "... a picture for each interval of its time" 8 "$(grep -c '^dpm top  alpha  ' text)"
check "... the last one says that it has ended" grep -q '^dpm top  alpha  74.0 ms  .*(ended)$' text
check_equal "... nothing of it could control a terminal" 0 "$(LC_ALL=C tr -d '\12\40-\176\200-\377' < text | wc -c)"
check_equal "... no line is wider than 80 columns" 0 "$(grep -cE '^.{81}' text)"
COLUMNS=120 "$dpm" top --interval 10ms alpha > wide
check "... COLUMNS sets the width" grep -q 'RECV/S' wide
check_equal "-n ends it earlier" 2 "$("$dpm" top --interval 10ms -n 2 alpha | grep -c '^dpm top  ')"
check "--view chooses the rows" sh -c '"$1" top --view pairs --interval 1s alpha | grep -q "^FROM > TO"' - "$dpm"
check "of 5,000 processes 20 are printed" sh -c '"$1" top --interval 1h many | grep -qE "^and 4,980 more, which have ended$"' - "$dpm"
check "... of connections 20, and all others are counted" sh -c '
    test "$("$1" top --interval 1h --view connections many | sed -n "s/,//; s/^and \([0-9]*\) more$/\1/p")" -gt 200' - "$dpm"
# widest COLUMNS: the longest line
widest() {
    COLUMNS=$1 "$dpm" top --interval 1h many | awk '{ if (length > longest) longest = length } END { print longest }'
}
check_equal "the least width is 40 columns" 40 "$(widest 30)"
check "a great one is used" test "$(widest 600)" -gt 160
"$dpm" top --interval 10ms alpha > /dev/full 2> err
check_equal "what cannot be written is an error" 1 $?
check "... which is named" grep -q '^dpm: .*No space left on device' err
check_not "a name that is no trace, folder or session" "$dpm" top nothing
check "... is said to be none" sh -c '"$1" top nothing 2>&1 | grep -q "nothing: there is no such trace, folder, session or job"' - "$dpm"
"$dpm" top --interval 10ms alpha 2> err | head -n 1 > /dev/null
check_equal "a reader that goes away is no error" "" "$(cat err)"

# ---- on a terminal ----

command -v tmux > /dev/null || {
    skip "on a terminal" "tmux is not installed"
    finish
}

# (tmux sometimes never knows the status)
pane 80 24 sh -c '"$1" top --pace 100 many; echo $? > status' - "$dpm"
check "80x24: the heading" shows '^PROCESS  *CPU WAITED  REQ/S    P99 SENT/S WAITS FOR'
check "... processes, by the end of the trace" shows '(ended)'
check "... it fits" fits 80 24
check "... the lowest line has the keys" shows '^q quit  h help'
types End
check "the end of the list is the sum of the processes that are left out" shows '^others (4800 ended)'
types Home
types Tab
check "Tab: the next view" shows '^FROM > TO '
types 3
check "a digit: connections" shows '^CONNECTION '
types 4
check "... requests, with their times" shows '^CLIENT > SERVER .* P50 '
types 1 / 'peer-7[' Enter
check "/: only rows with this text" shows '/peer-7\['
check_equal "... no other" "" "$(screen | sed -n '5,22p' | grep -v -e '^peer-7\[' -e '^ *$')"
types / Escape
check "Esc: all rows again" shows '^peer-[0-9]*\[.*peer\|^peer-[1-68]'
types c
check "c: values so far" shows '^processes .*so far'
types c d
check "d: changes" shows '^processes .*changes'
types d '>'
check "another order" shows '^PROCESS'
types h
check "h: the keys" shows '^dpm top: keys'
types h
check "... and back" shows '^PROCESS'
resize 130 40
check "a larger terminal has more columns" shows '^PROCESS .* RECV/S '
check "... and fits" fits 130 40
resize 40 8
check "a small one has fewer" shows '^PROCESS  *WAITS FOR'
check "... and fits" fits 40 8
resize 5 2
resize 80 24
check "... from one that is next to nothing" shows '^PROCESS  *CPU WAITED'
types q
check "q ends it" wait_for 30 is_dead
check_equal "... in order" 0 "$(cat status)"
pane_end

pane 80 24 "$dpm" top alpha
check "a name with quotes and controls is shown without them" shows '^q"\\??z'
types Down p
check "p: held" shows '^dpm top  alpha  \[held\]'
types 8
check "views are not held, which is said" shows '^dpm top  alpha  \[held; views show the present\]'
types 1
check "... of views alone" shows '^dpm top  alpha  \[held\]'
"$dpm" top --kinds all alpha > kinds.out 2> kinds.err
check_equal "--kinds is for processes" 'dpm: top: --kinds is for processes; a trace has what it has (try: dpm top --help)' "$(head -n 1 kinds.err)"
pane_end
check "a terminal that goes away ends it" wait_for 30 has_gone "$pane_process"

pane 80 24 "$dpm" top many
check "on a terminal again" shows '^PROCESS'
kill -9 "$pane_server"
check "... that is killed: it ends" wait_for 30 has_gone "$pane_process"

TERM=nonesuch script -qec "$dpm top alpha" /dev/null < /dev/null > out 2>&1
check_equal "an unknown terminal is an error" 1 $?
check "... which says so" grep -q '^dpm: this terminal cannot be used: TERM' out
finish
