#!/bin/sh
# SPDX-License-Identifier: MIT
# repair_test.sh BUILD_FOLDER: `dpm repair`: truncated traces become whole, and nothing else changes.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"

# sums TRACE: checksums of all its files.
sums() {
    (cd "$1" && cksum ./*)
}

# records TRACE: all but END.
records() {
    "$dpm" dump --json "$1" 2> err | grep -v '"event":"END"'
}

# repairs NAME TRACE LINE...: repair prints these lines and succeeds, with $complaint on standard error; then the trace
# has its former records, and as its last one END with reason 4 and the right count, and repair has nothing more to do.
complaint=
repairs() {
    tap_name=$1
    trace=$2
    shift 2
    records "$trace" > before
    runs "$tap_name: repaired" "$dpm" repair "$trace"
    check_equal "... and it is said what was done" "$(printf '%s\n' "$@")" "$(cat out)"
    says "... and of records lost" "$complaint"
    records "$trace" > after
    check "... no record is changed" cmp before after
    check_equal "... END is there" \
        "[\"END\",$(($(wc -l < before) + 1)),4]" \
        "$("$dpm" dump --json "$trace" 2> err | tail -n 1 | jq -c '[.event, .records, .reason]')"
    check "... other commands say that it was repaired" \
        grep -qx "dpm: $trace was cut and repaired: its last records are missing" err
    check_equal "... whole packets only" "0 0" \
        "$(($(stat -c %s "$trace/control") % 4096)) $(($(stat -c %s "$trace/data") % 4096))"
    sums "$trace" > before
    runs "... a second time nothing is to be done" "$dpm" repair "$trace"
    check_equal "... which is said" "$trace is complete; nothing was changed" "$(cat out)"
    sums "$trace" > after
    check "... and true" cmp before after
    if command -v babeltrace2 > /dev/null; then
        check_equal "... another reader finds as many records" \
            "$("$dpm" dump "$trace" 2> err | wc -l)" "$(babeltrace2 "$trace" 2> err | wc -l)"
    else
        skip "... another reader finds as many records" "babeltrace2 is not installed"
    fi
}

sums alpha > before
runs "a whole trace" "$dpm" repair alpha
check_equal "has no need of repair" 'alpha is complete; nothing was changed' "$(cat out)"
sums alpha > after
check "... and is left as it is" cmp before after

complaint='dpm: cut: 3 records were lost' # alpha's meter has lost them
copy cut
cut_end cut
repairs "a trace without END" cut 'cut: added the end record'

complaint='dpm: half: 3 records were lost'
copy half
truncate -s -1 half/control
repairs "a trace with half of END's packet" half \
    'half: removed 4095 bytes of unfinished packets' 'half: added the end record'

complaint= # the removed packets had the counts
copy both
cut_end both
truncate -s -4000 both/control
truncate -s -100 both/data
repairs "a trace with both files cut within a packet" both \
    'both: removed 4092 bytes of unfinished packets' 'both: added the end record'

complaint='dpm: zeros: 3 records were lost'
copy zeros
cut_end zeros
truncate -s +5000 zeros/data # as after a power failure
repairs "a trace with zeros at the end" zeros \
    'zeros: removed 5000 bytes of unfinished packets' 'zeros: added the end record'

complaint=
copy first
cut_end first
truncate -s 4096 first/control
: > first/data
repairs "a trace with nothing but its beginning" first 'first: added the end record'

cp -r crowd large # its 105 processes and paths are one packet of nine pages
cut_end large
truncate -s -8192 large/control
repairs "a trace with a large packet that was cut" large \
    'large: removed 28672 bytes of unfinished packets' 'large: added the end record'

copy short
cut_data short
lost=$("$dpm" dump --json short 2>&1 | sed -n 's/^dpm: short: \([0-9]*\) records were lost$/\1/p')
complaint='dpm: short: 25 records were lost'
repairs "a trace with END whose data were cut later" short 'short: corrected the end record'
check_equal "... whose END counts them as lost" "25 25" \
    "$lost $("$dpm" dump --json --type end short 2> err | jq .lost)"

# ---- what cannot be repaired ----

# refuses NAME PATTERN TRACE: fails with one line, and changes no file.
refuses() {
    sums "$3" > before
    fails "$1 is refused" 1 "$2" "$dpm" repair "$3"
    sums "$3" > after
    check "... and left as it is" cmp before after
}

copy damaged
cut_end damaged
set_byte damaged/control $((4096 + 88 + 8)) 255
refuses "a damaged trace" 'damaged/control: at byte 4184: .*damaged' damaged
copy nothing
: > nothing/control
refuses "a trace without its beginning" 'nothing/control: no complete packet' nothing
copy written
cut_end written
if command -v flock > /dev/null; then
    sums written > before
    fails "a trace that is being written is refused" 1 'written: still being written' \
        flock written/control "$dpm" repair written
    sums written > after
    check "... and left as it is" cmp before after
else
    skip "a trace that is being written is refused" "flock is not installed"
fi
copy elsewhere
mv elsewhere/control control
ln -s ../control elsewhere/control
cut_end elsewhere
refuses "a trace that leads somewhere else" 'elsewhere/control: cannot be opened' elsewhere
refuses_what_is_no_trace repair

# ---- wrong usage ----

fails "no trace" 2 'repair: name one trace.*dpm repair --help' "$dpm" repair
fails "two traces" 2 'repair: name one trace' "$dpm" repair alpha beta
fails "an unknown option" 2 "repair: unrecognized option '--force'" "$dpm" repair --force alpha

cannot_print "what is said" "$dpm" repair alpha
copy mute
cut_end mute
"$dpm" repair mute 2> err >&-
check_equal "with its output closed" 1 $?
check "... the trace is repaired all the same" sh -c \
    "'$dpm' repair mute | grep -qx 'mute is complete; nothing was changed'"
finish
