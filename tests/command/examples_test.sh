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
"$dpm" run -o pipe.trace -- sh -c "'$pipeline/generator' 4096 | gzip -1 | '$pipeline/consumer' 64 60" > out 2> err
check_equal "DPM counts the pipeline's bytes" "generator gzip 4194304
gzip consumer $(sed -n 's/^bytes *//p' out)" "$(between pipe.trace | awk '{ print $1, $2, $4 }')"
check "and that those before the slow consumer wait for room" sh -c "'$dpm' stats --json pipe.trace | jq -e '
    [.processes[] | select(.sender_blocked_ns.max > 10000000) | .name] | unique == [\"generator\", \"gzip\"]'"

# ---- the studies: only that they run; the results of one run prove nothing ----

if only_kernel "a study" "its stops are most of what would be studied"; then
    SIZES="4 8" SERVERS=4 RUNS=1 sh "$studies/tsp.sh" "$1" > study 2> err
    check_equal "the study of the travelling salesman prints its tables" "5.21 5.20" \
        "$(sed -n 's/^Figure \(5...\): .*/\1/p' study | paste -sd ' ')"
    check "... of values" grep -Eq '^4 +[0-9.]+/[0-9.]+/[0-9.]+ +[0-9.]+/[0-9.]+/[0-9.]+$' study
    check "... and how much of what the thesis says holds" grep -q '^[0-9]* of 5 hold$' study
    check_equal "... and nothing else is said" "" "$(cat err)"
fi
finish
