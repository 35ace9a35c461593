#!/bin/sh
# SPDX-License-Identifier: MIT
# first_sends_test.sh BUILD_FOLDER: two threads send at once through sockets that were never used before: which of them
# was first is unknown when one of the two has ended, and the records say so.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
cd "$scratch" || exit 1

# From the two SENDs of each path: how many pairs overlapped, and how many of these are marked concurrent. (An interrupt
# may delay the hook of one: then neither is marked; with few overlaps that may be several.)
cat > overlaps.jq << 'END'
map(select(.event == "SEND")) | group_by(.path) | map(select(length == 2) | sort_by(.time_ns) |
    select(.[1].time_ns - .[1].span_ns < .[0].time_ns - 1000)) |
    "\(length) \(map(select(all(.concurrent == true))) | length)"
END
# For the received messages: exact edges that lead to the other thread, and messages without any edge to the right one.
cat > wrong.jq << 'END'
[inputs | select((.event == "SEND" or .event == "RECEIVE") and .bytes > 0)] as $events |
([$events[] | select(.event == "SEND") | {key: (.stream | tostring), value: .bytes}] | from_entries) as $size_of |
reduce ($events[] | select(.event == "RECEIVE")) as $r ({left: 0, size: 0, at: 0, wrong: 0, missing: 0};
    (if .left == 0 then .size = $received[.at] | .left = .size | .at += 1 else . end) |
    .left -= $r.bytes | .size as $size |
    .wrong += ([$r.edges[]? | select(.kind == "exact" and $size_of[.stream | tostring] != $size)] | length) |
    .missing += (if any($r.edges[]?; $size_of[.stream | tostring] == $size) then 0 else 1 end)) |
"\(.at) \(.wrong) \(.missing)"
END
count=1500
for kind in datagram stream seqpacket; do
    rm -rf first.trace
    "$dpm" run --meter kernel -o first.trace --report report -- "$1/tests/programs/first-sends" $kind $count > received 2> err
    check_equal "$kind: the program runs" 0 $?
    "$dpm" dump --matched --json first.trace > dump.json 2> dump.err
    jq -r -s -f overlaps.jq dump.json > overlaps
    if awk '{ exit !($1 < 10) }' overlaps; then
        skip "$kind: first sends that overlap say so" "the machine had next to none that did"
    else
        check "$kind: first sends that overlap say so" awk '{ exit !($1 - $2 <= 3 + 0.1 * $1) }' overlaps
    fi
    jq -r -n --slurpfile received received -f wrong.jq dump.json > wrong
    check "$kind: no edge that is called exact is wrong, and next to none is missing" awk -v count=$count '
        { exit !($1 == 2 * count && $2 == 0 && $3 <= 4) }' wrong
    echo "# $kind: overlaps, told: $(cat overlaps); messages, wrong, missing: $(cat wrong)"
done
finish
