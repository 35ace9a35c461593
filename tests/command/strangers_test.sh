#!/bin/sh
# SPDX-License-Identifier: MIT
# strangers_test.sh BUILD_FOLDER: an unmonitored process also writes into a FIFO that metered processes use. Its bytes
# must not be attributed to another process. The truth is what was read: each block names its writer. (The writers take
# turns. A meter cannot know whether an unmonitored write is in progress at the same time.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
strangers=$1/tests/programs/strangers
cd "$scratch" || exit 1
blocks=300

# The SENDs of each writer are its last blocks; the RECEIVEs of the reader are the last lines of its log.
cat > edges.jq << 'END'
def blocks: split(" ") | map(split(":") | {key: "\(.[0]) \(.[1])", value: (.[2] | tonumber)}) | from_entries;
($log | split("\n") | map(select(. != "") | blocks)) as $log |
# how many each writer has written, besides the one that says that it ends
([$log[] | keys[] | split(" ") | select(.[1] != "9999999")] | group_by(.[0]) |
    map({key: .[0][0], value: (map(.[1] | tonumber) | max + 1)}) | from_entries) as $blocks |
[.[] | select(.event == "SEND")] as $sends |
($sends | group_by(.stream) | map(. as $own | to_entries | map(
    $letters[.value.pid | tostring] as $letter |
    ($blocks[$letter] + 1 - ($own | length) + .key) as $number |
    {key: "\(.value.stream) \(.value.sequence)",
        value: "\($letter) \(if $number == $blocks[$letter] then 9999999 else $number end)"}))
    | add | from_entries) as $block |
[.[] | select(.event == "RECEIVE" and .bytes > 0)] as $receives |
[$receives | to_entries[] |
    $log[($log | length) - ($receives | length) + .key] as $truth |
    {edges: [.value.edges[]? | .block = $block["\(.stream) \(.sequence)"]], truth: $truth,
        read: ($truth | add), bytes: .value.bytes, rest: (.value.rest.bytes // 0), why: .value.rest.why}] as $found |
[$found[].truth | to_entries[]] as $parts |
($parts | map(select(.key | startswith("u")).value) | add) as $strange |
([$block[]] | map({key: ., value: true}) | from_entries) as $recorded |
{
    sends: ($sends | length),
    receives: ($receives | length),
    $strange,
    before: ($parts | map(select((.key | startswith("u") | not) and $recorded[.key] == null).value) | add // 0),
    other_bytes: [$found[] | select(.read != .bytes)] | length,
    edges: [$found[].edges[]] | length,
    wrong: [$found[] | .truth as $truth | .edges[] |
        select(.kind == "exact" and .bytes > ($truth[.block] // 0))],
    nobody: [$found[] | select(.why == "external" or .why == "unmatched").rest] | add
}
END

# look LETTERS: rates the edges of dump.json, into edges.json.
look() {
    check_equal "... no record is lost" "" "$(grep lost dump.err)"
    jq -s -f edges.jq --rawfile log log --argjson letters "$1" dump.json > edges.json
    check "... what was read is what is recorded, some of it the stranger's" jq -e \
        '.sends > 100 and .receives > 100 and .strange > 1000 and .other_bytes == 0' edges.json
    check_equal "... no exact edge is wrong" "[]" "$(jq -c '.wrong[:3]' edges.json)"
    # (how many are exact depends on how many calls overlap)
    check "... and receives have edges" jq -e '.edges > 100' edges.json
    check_equal "... bytes of the unmonitored writer, and older ones, have no sender" \
        "$(jq '.strange + .before' edges.json)" "$(jq .nobody edges.json)"
}

# ---- a FIFO that the metered processes have opened themselves ----

mkfifo new
record_new() {
    rm -rf run.trace
    "$strangers" write new u $blocks &
    "$dpm" run -o run.trace --wait -- sh -c "
        '$strangers' write new a $blocks & echo \$! > a.pid
        '$strangers' write new b $blocks & echo \$! > b.pid
        exec '$strangers' read new 3 log" > out 2> err
    status=$?
    wait
    "$dpm" dump --matched --json run.trace > dump.json 2> dump.err
}
repeat record_new
check_equal "a stranger writes into a FIFO that a metered one reads" 0 $status
look "{\"$(cat a.pid)\": \"a\", \"$(cat b.pid)\": \"b\"}"

# ---- a FIFO older than metering ----

mkfifo old
record_old() {
    rm -rf acquire.trace log metering
    "$strangers" write old a $blocks metering &
    a=$!
    "$strangers" write old b $blocks metering &
    b=$!
    "$strangers" write old u $blocks metering &
    "$strangers" read old 3 log &
    reader=$!
    wait_for 30 test -s log
    take_over -o acquire.trace --kinds all -p $a -p $b -p $reader
    : > metering
    wait $acquirer
    status=$?
    wait
    "$dpm" dump --matched --json acquire.trace > dump.json 2> dump.err
}
repeat record_old
check_equal "a stranger has written into a FIFO all the time when writers and reader are acquired" 0 $status
look "{\"$a\": \"a\", \"$b\": \"b\"}"
finish
