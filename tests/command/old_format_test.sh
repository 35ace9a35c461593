#!/bin/sh
# SPDX-License-Identifier: MIT
# old_format_test.sh BUILD_FOLDER: traces of format 2 are read as before. format-2.tar.xz has two of them, as the last
# version with that format has written them, and what its `dpm dump --json` and `dpm stats --json` said.
. "$(dirname "$0")/tap.sh"
need_programs jq
dpm=$1/dpm
archive=$(cd "$(dirname "$0")" && pwd)/format-2.tar.xz
cd "$scratch" || exit 1
tar -xJf "$archive"

# changed NEW OLD: what OLD says and NEW does not; NEW may have more keys. Rates and means over time were over the whole recording
# then; now they are over the life of a process. The longest queue, and its bytes, did not count messages that one RECEIVE took
# together, unless their arrival was recorded. A recording's time, and shares of it, had the start of the meter in them.
# Percentiles were a bucket's least value, and fractions had 17 digits. The latency of a request began with its last send. What is
# not found counted as external. Pairs of which a side is late were in the order of sums over messages.
changed() {
    jq -n -c --slurpfile new "$1" --slurpfile old "$2" '
        def ordered: map(if type == "object" and has("late_receivers") then
            (.late_receivers, .late_senders) |= sort_by([.from, .to] | tostring) else . end);
        ($new | ordered) as $new | ($old | ordered) as $old |
        ($new | map(if .trace.matching != null then .trace.matching |= (.external += .not_found) else . end)) as $new |
        ($new | [paths(scalars) as $path | {key: ($path | tojson), value: getpath($path)}] | from_entries) as $has |
        [$old | paths(scalars) as $path | select($has[$path | tojson] as $now | getpath($path) as $before |
                if ($now | type) == "number" and ($before | type) == "number" then ($now - $before | fabs) > ($before | fabs) * 1e-12
                else $now != $before end) | $path |
            select(.[-1] | tostring | test("_per_s$|^messages_mean$|^messages_max$|^bytes_max$|^duration_ns$|^p[0-9]+$") | not) |
            select(.[-2] != "share" and (map(tostring) | any(test("^request_.*ns$")) | not))] | .[:3]'
}

for trace in alpha delta; do
    for command in dump stats; do
        "$dpm" $command --json $trace > new.json 2> err
        check_equal "dpm $command of $trace says what it said" "[]" "$(changed new.json $trace.$command.json)"
        check_equal "... of as many records or results" "$(jq -s length $trace.$command.json)" "$(jq -s length new.json)"
    done
done
finish
