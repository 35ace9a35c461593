#!/bin/sh
# SPDX-License-Identifier: MIT
# interval_test.sh BUILD_FOLDER: reports during a recording agree with the trace afterwards.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
load=$1/tests/programs/load
cd "$scratch" || exit 1

# so_far FILE: the last report before the final one.
so_far() {
    awk '/^1 trace, / { on = /, so far$/; if (on) text = "" } on { text = text $0 "\n" } END { printf "%s", text }' "$1"
}

# lines that do not depend on the length of the recording: waits between processes, and the matching of messages
lasting() {
    awk '/^Matched receives: / || /^Who waits for whom$/ { on = 1 } on { print } /^$/ { on = 0 }
         /^Matched receives: / { on = 0 }'
}

# Messages, then silence: everything has been reported when the command ends.
compare() {
    name=$1
    shift
    "$dpm" run --interval 250ms -o "$name.trace" "$@" > out 2> err
    so_far err > report
    lasting < report > live
    "$dpm" stats "$name.trace" | lasting > whole
    check "$name: there are reports while it goes on" test "$(grep -c ', so far$' err)" -ge 2
    check "... which match receives with sends" grep -q '^Matched receives: ' live
    check_equal "... and agree with the trace" "$(cat whole)" "$(cat live)"
    check "... messages that wait are among them" grep -q '^Messages that wait to be received' report
    check "... and what it costs" grep -q '^DPM itself: ' report
}

compare few sh -c "'$load' 2000 64; sleep 1.5"
# more than is read from the history at once
compare many sh -c "'$load' 60000 64; sleep 3"
compare ptrace --meter ptrace sh -c "'$load' 2000 64; sleep 1.5"

"$dpm" run -o without.trace "$load" 2000 64 > out 2> err
check_not "without --interval there is no report before the last" grep -q ', so far$' err

finish
