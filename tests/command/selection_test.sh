#!/bin/sh
# SPDX-License-Identifier: MIT
# selection_test.sh BUILD_FOLDER: --process, --path, --from and --to. What they select is compared with what jq selects
# from the records. (Names by script and command line: tests/stories/selection.story.)
# DPM_SEED sets the seed of the times (default: the clock).
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
need_programs jq
seed=${DPM_SEED:-$(date +%s)}
echo "# DPM_SEED=$seed"

# figures OPTION...: events, messages and bytes sent
figures() {
    "$dpm" stats --json "$@" 2> err |
        jq -c '[.trace.events, ([.processes[].sent.messages] | add), ([.processes[].sent.bytes] | add)]'
}

# add_up: the sum of figures, one a line
add_up() {
    jq -sc 'transpose | map(add)'
}

# ---- times ----

length=$("$dpm" stats --json alpha 2> err | jq '.trace.duration_ns / 1000')
"$dpm" dump --json alpha 2> err > records
begin=$(head -n 1 records | jq .time_ns)
rounds="1 2"
! long_ones || rounds="1 2 3 4 5 6"
for round in $rounds; do
    cuts=$(awk -v seed=$((seed + round)) -v most="$length" 'BEGIN {
        srand(seed); a = int(rand() * most); b = int(rand() * most)
        if (a < b) print a + 1, b + 2; else print b + 1, a + 2 }')
    first=${cuts% *}
    last=${cuts#* }
    echo "# cut at $first us and $last us"
    "$dpm" dump --json --from "${first}us" --to "${last}us" alpha > some 2> err
    # shellcheck disable=SC2016 # jq's variables
    check_equal "dump --from --to: the records in between, and no others" \
        "$(jq -c --argjson from $((begin + first * 1000)) --argjson to $((begin + last * 1000)) \
            'select(.time_ns >= $from and .time_ns < $to)' records)" "$(jq -c . some)"
    check_equal "the parts of a recording add up to the whole" "$(figures alpha)" \
        "$({ figures --to "${first}us" alpha
            figures --from "${first}us" --to "${last}us" alpha
            figures --from "${last}us" alpha; } | add_up)"
    check_equal "... and the bytes sent in each are those that dump shows" \
        "$(jq -s '[.[] | select(.event == "SEND") | .bytes] | add // 0' some)" \
        "$(figures --from "${first}us" --to "${last}us" alpha | jq '.[2]')"
done
for command in stats why path parallelism causality report; do
    runs "$command of a part" "$dpm" $command --from 10ms --to 60ms alpha
    runs "$command of what has no records" "$dpm" $command --from 5s alpha
    check "... which is said" grep -qx 'dpm: --from: the recording ends before this time' err
    fails "$command: an end at the beginning" 2 "$command: --to must be later than the beginning" "$dpm" $command --to 0 alpha
    fails "$command: times in the wrong order" 2 "$command: --to must be later than --from" \
        "$dpm" $command --from 2s --to 1s alpha
    fails "$command: no time" 2 "$command: --from 'soon': give a time" "$dpm" $command --from soon alpha
done

# ---- paths ----

check_equal "stats --path: the messages of these connections" \
    "$("$dpm" dump --json --path :80 --type send alpha 2> err | jq -s '[.[].bytes] | add')" \
    "$(figures --path :80 alpha | jq '.[2]')"
check_equal "... and no other connection" true "$("$dpm" stats --json --path :80 alpha 2> err |
    jq '.paths | length > 0 and all(.local + " " + .remote | contains(":80"))')"
"$dpm" stats --path :8888 alpha > out 2> err
check "what matches nothing is reported" grep -qx 'dpm: --path :8888: nothing in the trace matches' err
for command in why path parallelism report; do
    fails "$command refuses --path" 2 "$command: --path has no meaning here; it has one for dump, stats, causality, graph" \
        "$dpm" $command --path :80 alpha
    "$dpm" $command --help > out
    check "... and does not offer it" sh -c '! grep -q -e "--path " out'
done
fails "an end's number is no connection" 2 'stats: --path 1: give an address or a kind' "$dpm" stats --path 1 alpha

# ---- processes ----

runs "stats --process" "$dpm" stats --json --process client alpha
check_equal "... has its rows; others are marked" '[200]' \
    "$(jq -c '[.processes[] | select(.peer_only | not) | .pid]' out)"
id=$(jq '.processes[] | select(.pid == 200) | .id' out)
# shellcheck disable=SC2016 # jq's variables
check_equal "... and pairs with it" true "$(jq --argjson id "$id" '.pairs | length > 0 and
    all([.from, .to] | flatten | any(. == $id))' out)"
check_equal "the text has one process" 1 "$("$dpm" stats --process client alpha 2> err |
    sed -n '/^Processes$/,/^$/p' | sed '1,2d; /^$/d' | wc -l)"
check_equal "... and so has the CSV" 2 "$("$dpm" stats --csv --process client alpha 2> err | wc -l)"
runs "groups of chosen processes" "$dpm" stats --by program --process client alpha
for command in causality report; do
    fails "$command refuses --process" 2 \
        "$command: --process has no meaning here; it has one for dump, stats, why, parallelism, path, graph" \
        "$dpm" $command --process client alpha
    "$dpm" $command --help > out
    check "... and does not offer it" sh -c '! grep -q -e --process out'
done

finish
