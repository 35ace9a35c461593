#!/bin/sh
# SPDX-License-Identifier: MIT
# examples_test.sh BUILD_FOLDER: the small examples, pipeline and timer-server, work as described, and DPM records it.
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/command/meter.sh
. "$(dirname "$0")/meter.sh"
studies=$(cd "$(dirname "$0")/../../examples/studies" && pwd)
pipeline=$1/examples/pipeline
server=$1/examples/timer-server/timer-server
cd "$scratch" || exit 1

# ---- pipeline ----

"$pipeline/generator" 1000 > whole
check_equal "the generator writes the requested amount" 1024000 "$(wc -c < whole)"
"$pipeline/generator" 1000 | cmp -s - whole
check_equal "the same again" 0 $?
"$pipeline/generator" 1000 2 > other
check_not "something else with another seed" cmp -s whole other
packed=$(gzip -1 < whole | wc -c)
check "it can be compressed, but not away" test "$packed" -gt 51200 -a "$packed" -lt 512000
check_equal "the consumer counts, and pauses once in so many bytes" "bytes      1024000
pauses     $((1024000 / 102400))" "$("$pipeline/consumer" 100 1 < whole)"
"$pipeline/generator" 8 > /dev/full 2> err
check_equal "a generator that cannot write" "1 generator: No space left on device" "$? $(cat err)"
for wrong in "generator" "generator x" "generator 0" "consumer" "consumer 1" "consumer 0 1"; do
    # shellcheck disable=SC2086 # the words are arguments
    "$pipeline/"$wrong > out 2> err < /dev/null
    check_equal "refuses: $wrong" 2 $?
done

# ---- timer-server ----

"$server" 100 100 1000 5 500 0 > out 2> err
check_equal "the timer server answers all" "0 100" "$? $(sed -n 's/^answered *//p' out)"
# 100 requests with 1 ms of sleep and 0.1 ms of work each last more than 110 ms: 22 periods.
check "and keeps house every 5 ms" awk '
    $1 == "ticks" || $1 == "missed" { sum += $2 }
    END { exit !(sum >= 20) }' out
"$server" 0 > out
check_equal "nothing to answer" "0 0" "$? $(sed -n 's/^answered *//p' out)"
for wrong in "x" "1 2 3 4 5 6 7" "1 1 1 0"; do
    # shellcheck disable=SC2086 # the words are arguments
    "$server" $wrong > out 2> err
    check_equal "timer-server refuses: $wrong" "2 0" "$? $(wc -c < out)"
done

# ---- curves: positions follow from values ----

printf 'a\t%s\t%s\t%s\t%s\n' 4 1.5 1.2 1.7 8 3 2.9 3.1 20 4.5 4.5 4.6 > measured
printf 'a\t4\t2.5\nb & c\t20\t6.5\n' | cat measured - > all
awk -v title='1 < 2 & 3' -v over=cities -f "$studies/curves.awk" all > curves.svg
check "curves are drawn as they are" python3 - curves.svg << 'END'
import re, sys, xml.etree.ElementTree as tree
n = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
texts = [e.text for e in root.iter(n + "text")]
assert "1 < 2 & 3" in texts and "b & c" in texts, texts
number = lambda e, k: float(e.get(k))
# the scales, from the texts at the axes
scale = {float(e.text): number(e, "y") - 4 for e in root.iter(n + "text")
         if e.get("text-anchor") == "end" and re.fullmatch("[0-9.]+", e.text)}
places = {int(e.text): number(e, "x") for e in root.iter(n + "text")
          if e.get("text-anchor") == "middle" and e.text.isdigit()}
assert set(places) == {4, 8, 20} and len(scale) >= 3, (places, scale)
low, high = min(scale), max(scale)
y = lambda value: scale[low] + (scale[high] - scale[low]) * (value - low) / (high - low)
near = lambda a, b: abs(a - b) < .15
marks = [(number(e, "cx"), number(e, "cy"), e.find(n + "title").text) for e in root.iter(n + "circle")]
assert len(marks) == 5, marks
for cx, cy, title in marks:
    x, value = re.search(r", (\d+) cities: ([0-9.]+)", title).groups()
    assert near(cx, places[int(x)]) and near(cy, y(float(value))), (title, cx, cy)
assert near((places[8] - places[4]) * 4, places[20] - places[4]), places
spreads = [(number(e, "x1"), number(e, "y1"), number(e, "y2")) for e in root.iter(n + "line") if e.get("class") == "spread"]
for found, (x, least, largest) in zip(spreads, [(4, 1.2, 1.7), (8, 2.9, 3.1), (20, 4.5, 4.6)]):
    assert all(map(near, found, (places[x], y(least), y(largest)))), (found, x)
assert len(spreads) == 3
END

# ---- as DPM sees them ----

# between TRACE: messages and bytes between each two programs of the trace.
between() {
    "$dpm" stats --json "$1" | jq -r '
        (.processes | map({key: (.id | tostring), value: .name}) | from_entries) as $name |
        .pairs[] | select((.from | type) == "number" and (.to | type) == "number") |
        [$name[.from | tostring], $name[.to | tostring], .messages, .bytes] | join(" ")' | sort
}

find_meter
if [ -z "$meter" ]; then
    skip "what DPM sees" "no meter runs here: $reason"
    finish
fi
"$dpm" run -o server.trace -- "$server" 50 > out 2> err
check_equal "DPM counts the timer server's messages" "timer-client timer-server 50 800
timer-server timer-client 50 800" "$(between server.trace)"
# its client's 10 ms of work run in parallel with the server's 10 ms, so a second processor helps
"$dpm" run -o works.trace -- "$server" 20 10000 0 1000 0 10000 > out 2> err
check "the timer server's client works at the same time" sh -c \
    "'$dpm' parallelism --json works.trace | jq -e '.rows[0].P > 1.5 and .rows[0].P < 2.1'"
"$dpm" run --kinds pipe -o pipe.trace -- sh -c "'$pipeline/generator' 4096 | gzip -1 | '$pipeline/consumer' 64 60" > out 2> err
check_equal "DPM counts the pipeline's bytes" "generator gzip 4194304
gzip consumer $(sed -n 's/^bytes *//p' out)" "$(between pipe.trace | awk '{ print $1, $2, $4 }')"
check "and that those before the slow consumer wait for room" sh -c "'$dpm' stats --json pipe.trace | jq -e '
    [.processes[] | select(.sender_blocked_ns.max > 10000000) | .name] | unique == [\"generator\", \"gzip\"]'"

# ---- the studies: only that they run; the results of one run prove nothing ----

if only_kernel "a study" "its stops are most of what would be studied"; then
    CURVES=$scratch/curves SIZES="4 8" SERVERS=4 RUNS=1 sh "$studies/tsp.sh" "$1" > study 2> err
    check_equal "the study of the travelling salesman prints its tables" "5.21 5.20" \
        "$(sed -n 's/^Figure \(5...\): .*/\1/p' study | paste -sd ' ')"
    check "... of values" grep -Eq '^4 +[0-9.]+/[0-9.]+/[0-9.]+ +[0-9.]+/[0-9.]+/[0-9.]+$' study
    check "... and how much of what the thesis says holds" grep -q '^[0-9]* of 5 hold$' study
    check_equal "... and nothing else is said" "" "$(cat err)"
    check_equal "... and draws six figures of curves" "5.22 5.23 5.24 5.25 5.26 5.27" \
        "$(cd curves && printf '%s\n' figure-*.svg | sed 's/figure-\(.*\).svg/\1/' | paste -sd ' ')"
    # points NUMBER: those of the study in a figure, as "CITIES SERVERS P".
    points() {
        sed -n -E 's/.*<title>(([0-9]+) servers, ([0-9]+) cities|([0-9]+) cities, ([0-9]+) servers): ([0-9.]+), from.*/\3\4 \2\5 \6/p' \
            "curves/figure-$1.svg" | sort -n
    }
    # row FIELD: the same from the table.
    row() {
        sed -n 's/^4  *\([0-9]\)/\1/p' study | tail -n 1 | tr ' /' '\n\n' | grep . |
            awk -v field="$1" 'NR % 3 == field % 3 { print 4 * ++cell, 4, $1 }'
    }
    for figure in 1:5.22 1:5.25 2:5.23 2:5.26 3:5.24 3:5.27; do
        check_equal "... figure ${figure#*:} has the values of the table" "$(row "${figure%:*}")" "$(points "${figure#*:}")"
    done
fi
finish
