#!/bin/sh
# SPDX-License-Identifier: MIT
# exchange_test.sh BUILD_FOLDER: small programs that ask and answer, reset connections, use one for each request, and find
# buffers full: the records say what the programs say of themselves (tests/programs/exchange.py), by contents, positions
# and times before and after each call. One recording serves all; what dpm run says at its end is looked at, too.
tests=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$tests/../programs" && pwd)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq python3
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
cd "$scratch" || exit 1

parts='answers.tcp answers.unix-stream again own full.pipe full.unix-stream'
record() {
    rm -rf exchange.trace
    # shellcheck disable=SC2016 # for the inner shell
    timeout 200 "$dpm" run --kinds tcp,unix,pipe --flags all,-schedule --ring 64M --report report -o exchange.trace -- sh -c '
        python=$1 program=$2
        shift 2
        for part; do
            "$python" "$program" ${part%%.*} $(case $part in *.*) echo "${part#*.}" ;; esac) > "said.$part"
        done' sh "$python" "$programs/exchange.py" $parts > out 2> err
    recorded=$?
    "$dpm" dump --json exchange.trace > records.json 2> dump.err
}
repeat record
check_equal "the programs run" 0 $recorded
check_equal "no record is lost" "" "$(grep lost dump.err)"
for part in $parts; do
    case $part in
    answers.*) what="every send and receive, with its bytes, within its call, queued in between" ;;
    again) what="connections from a port that is used again are different ones, and each ends once" ;;
    own) what="a connection for each request is made, accepted and ended once" ;;
    full.*) what="a send that finds the buffer full is recorded when it waits" ;;
    esac
    check_equal "$part: $what" "" "$("$python" "$tests/exchange_account.py" "${part%%.*}" "said.$part" records.json 2>&1 | head -n 20)"
done
check_equal "without its flag there is no SCHEDULE" 0 "$(grep -c '"event":"SCHEDULE"' records.json)"

"$dpm" stats --json exchange.trace > stats.json
client=$(sed -n 's/^pid //p' said.answers.tcp)
check_equal "the statistics count as many messages, and each waits once" "40 40 0" \
    "$(jq -r --argjson client "$client" '[.processes[] | select(.pid == $client)][0].id as $id | [.pairs[] | select(.from == $id)][0] as $pair |
        "\($pair.messages) \($pair.message_wait_ns.count) \([.processes[].queue.unreceived] | add)"' stats.json)"
check_equal "everything that was received is matched" "0 0" \
    "$(jq -r '.trace.matching | "\(.unmatched_sends) \(.unmatched_receives)"' stats.json)"

# ---- what dpm run says at its end ----

check_not "without --interval there is no report before the last" grep -q ', so far$' err
# findings FILE: without what is said of the rest of them
findings() {
    sed -n '/^What was found$/,/^$/p' "$1" | grep -v '^('
}
"$dpm" report exchange.trace > whole 2> report.err
check_equal "dpm run says first what the report of its trace finds" "$(findings whole | head -n 5)" "$(findings report | head -n 5)"
check "... no more than fits on a screen" test "$(wc -l < report)" -le 41
check "... and the command for more" grep -qE '^\((more of it|[0-9]+ more findings?): dpm report exchange\.trace\)$' report

# the recorder says it, with each meter: this one begins faster
other=kernel
"$dpm" run --meter ptrace --report probe -o probe.trace -- true > out 2>&1 && other=ptrace
"$dpm" run --meter $other --flags accept -o nothing.trace --report nothing -- true > out 2>&1
check_equal "of a recording of nothing there is nothing more" 'Nothing Too little was recorded to find anything.' \
    "$(sed -n '/^What was found$/,/^Processes$/p' nothing | sed '1d; $d; /^$/d' | tr -s ' ')"
large="of a large trace only the statistics say something at once"
if long_ones; then
    "$dpm" run -o large.trace --ring 64M --report large -- "$1/tests/programs/load" 240000 1 > out 2>&1
    check_equal "a large trace is whole" 0 "$("$dpm" stats --json large.trace | jq .trace.lost)"
    check "$large" grep -qxF '(parallelism, the critical path, waits and requests: dpm report large.trace)' large
    check_not "... no analysis does" grep -q '^Parallelism' large
else
    skip "$large" "takes long: only with ./dev test --all"
fi
finish
