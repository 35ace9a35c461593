#!/bin/sh
# SPDX-License-Identifier: MIT
# generate_test.sh BUILD_FOLDER: the standard trace that benchmarks read (bench/generate.c): its own account, the counts
# of `dpm` and of another reader, and its intended properties.
. "$(dirname "$0")/tap.sh"

dpm=$1/dpm
generate=$1/bench/generate
measure=$1/bench/measure
short_lived=$1/tests/programs/short-lived
account=$(cd "$(dirname "$0")" && pwd)/generate_account.py
seed=${DPM_SEED:-$(date +%s)}
echo "# DPM_SEED=$seed"
TZ=UTC
export TZ
cd "$scratch" || exit 1

# fact NAME: a value from the account.
fact() {
    jq ".$1" facts.json
}

# ---- its own account, and the actual contents ----

# same NAME GENERATED COUNTED: the two filters give the same for sums.json and stats.json.
same() {
    check_equal "$1" "$(jq -Sc "$2" sums.json)" "$(jq -Sc "$3" stats.json)"
}

# holds NAME OPTION...: `dpm stats` agrees with a trace generated with these options.
holds() {
    about=$1
    shift
    rm -rf alpha beta
    "$generate" "$@" --json alpha beta > sums.json
    check_not "$about: something was sent" jq -e '.pairs == []' sums.json
    "$dpm" stats --json alpha beta > stats.json
    found "$about"
}

# found ABOUT: stats.json agrees with sums.json.
found() {
    about=$1
    same "$about: events" .events .trace.events
    same "$about: what each process sent and received" \
        '.processes | sort' '[.processes[] | {machine, pid, sent, received}] | sort'
    same "$about: who sent how much to whom" '.pairs | sort' '
        (.processes | map({key: (.id | tostring), value: .pid}) | from_entries) as $pid |
        [.pairs[] | {messages, bytes, local, from: $pid[.from | tostring],
                     to: $pid[.to | tostring]}] | sort'
    same "$about: paths, and what went over each kind of them" .kinds '
        [.paths | group_by(.kind)[] | {key: .[0].kind, value: {paths: (map(.connections) | add),
            messages: (map(.sent.messages + .received.messages) | add),
            bytes: (map(.sent.bytes + .received.bytes) | add)}}] | from_entries'
}

holds "the least" --records 60 --processes 2 --paths 1 --seed "$seed"
if long_ones; then
    holds "few processes" --records 20000 --processes 5 --paths 7 --churn 30 --seed "$seed"
    holds "no churn" --records 20000 --paths 50 --churn 0 --seed "$seed"
else
    skip "few processes, and no churn" "takes long: only with ./dev test --all"
fi
holds "the standard" --records 60000 --seed "$seed"
check_equal "two machines, nothing lost, complete" '[["alpha","beta"],0,true]' \
    "$(jq -c '.trace | [.machines, .lost, .complete]' stats.json)"

# ---- intended properties of the standard trace: the one above ----

"$dpm" dump --json alpha beta > records.json
check "every record can be right" sh -c "python3 '$account' records.json > facts.json"
check_equal "as many records as it says" "$(jq .records sums.json)" "$(fact records)"
check_equal "64 processes, 16 with several threads, on two machines" '64 16 2' \
    "$(fact processes) $(fact with_threads) $(fact machines)"
check_equal "1,000 paths live at most, none is left" '1000 0' "$(fact most_live) $(fact left_live)"
check_equal "each path is counted" "$(jq .paths sums.json)" "$(fact opened)"
check "one path is opened and closed per 100 records" \
    jq -e '(.opened - 1000) * 100 / .records | . > 0.8 and . < 1' facts.json
check_equal "each split is counted" "$(jq .splits sums.json)" "$(fact splits)"
check "a fifth of the sends is received in pieces" \
    jq -e '.splits / .sends | . > 0.199 and . < 0.201' facts.json
check "nearly every send is a response, and none comes at once" \
    jq -e '.responses > .sends * 0.9 and .shortest_response > 5000' facts.json
check_equal "TCP and UNIX sockets" '["tcp","unix-datagram","unix-seqpacket","unix-stream"]' \
    "$(jq -c '.kinds | keys' sums.json)"

# ---- a short one: what is found out, and another reader ----

rm -rf alpha beta
"$generate" --records 5000 --paths 100 --json --seed "$seed" alpha beta > sums.json
"$dpm" dump --json alpha beta > records.json
check "every record of a short one can be right" sh -c "python3 '$account' records.json > facts.json"
awk '!(/"SEND"/ && ++count == 10)' records.json > less.json
check_not "(without one SEND, that would be found out)" python3 "$account" less.json
if command -v babeltrace2 > /dev/null; then
    babeltrace2 alpha beta > others 2> complaints
    check_equal "babeltrace2 lists every record, without complaint" "$(fact records)" \
        "$(cat others complaints | wc -l)"
    check_equal "... in wall-clock time, as we do" \
        "$("$dpm" dump alpha beta | sed 's/^[-0-9]* \([:.0-9]*\).*/\1/' | uniq | cksum)" \
        "$(sed 's/^\[\([:.0-9]*\)[0-9]\{3\}\].*/\1/' others | uniq | cksum)"
else
    skip "babeltrace2 lists every record" "babeltrace2 is not installed"
fi

# ---- the seed ----

# digest SEED: of all records generated with it.
digest() {
    rm -rf alpha beta
    "$generate" --records 10000 --paths 20 --seed "$1" alpha beta > said
    "$dpm" dump --json alpha beta | cksum
}

check_equal "the same seed makes the same records" "$(digest "$seed")" "$(digest "$seed")"
check_not "another seed makes others" test "$(digest "$seed")" = "$(digest $((seed + 1)))"
check_equal "it says how many" "$("$dpm" dump alpha beta | wc -l) records" "$(cat said)"

# ---- wrong usage ----

# refuses NAME STATUS PATTERN OPTION...: prints one line that matches.
refuses() {
    tap_name=$1
    wanted="$2 1 1"
    pattern=$3
    shift 3
    "$generate" "$@" > out 2> err
    check_equal "$tap_name" "$wanted" "$? $(wc -l < err) $(grep -c -e "$pattern" err)"
}

refuses "no number" 2 "--records 'many': give a number from 1 to" --records many a b
refuses "a negative number" 2 "--churn '-1': give a number from 0" --churn -1 a b
refuses "one process" 2 "--processes '1': give a number from 2 to 10000" --processes 1 a b
refuses "more than 64 bits" 2 "--seed '99999999999999999999'" --seed 99999999999999999999 a b
refuses "an unknown option" 2 "unrecognized option '--size'" --size 3 a b
refuses "one trace" 2 '^usage: generate' a
refuses "a trace that exists" 1 'alpha: cannot be created: File exists' alpha c
refuses "the same trace twice" 1 'twice: cannot be created: File exists' twice twice

# ---- memory: 64 MiB, 4 KiB for each path that lives, 5 KiB for each process ----

# memory: KiB that dpm stats takes.
memory() {
    "$measure" measured "$dpm" stats --json alpha beta > much.json
    awk '{ print $2 }' measured
}

if ldd "$dpm" | grep -q libasan; then
    skip "memory does not grow with the length" "a sanitizer takes its own"
else
    lengths=500000
    ! long_ones || lengths="500000 5000000"
    for records in $lengths; do # all but 1,000 paths have ended
        rm -rf alpha beta
        "$generate" --records $records --churn 20 --seed "$seed" alpha beta > /dev/null
        used=$(memory)
        check "of $records records: $used KiB" test "$used" -le $((64 * 1024 + 2000 * 4 + 64 * 4))
        check "... each message has its size, and each answer is a process's" jq -e '
            def count(values): [values // {count: 0} | .count] | add;
            count(.paths[].size) == ([.paths[] | .sent.messages + .received.messages] | add) and
            count(.paths[].response_ns) == count(.processes[].response_ns) and
            count(.paths[].request_ns) == count(.processes[].request_ns) and
            count(.paths[].response_last_byte_ns) == count(.processes[].response_ns) and
            count(.paths[].request_last_byte_ns) == count(.processes[].request_ns)' much.json
    done
    long_ones || finish
    # each live one uses this much
    rm -rf alpha beta
    "$generate" --records 4000000 --paths 20000 --seed "$seed" alpha beta > /dev/null
    used=$(memory)
    check "of 20,000 connections that live: $used KiB" test "$used" -le $((64 * 1024 + 40000 * 4))
    rm -rf alpha beta
    "$generate" --records 2500000 --processes 10000 --seed "$seed" alpha beta > /dev/null
    used=$(memory)
    check "of 10,000 processes that live: $used KiB" test "$used" -le $((64 * 1024 + 2000 * 4 + 10000 * 5))
    # what has ended takes none: of half a million processes ten live at a time
    "$short_lived" short 500000 10
    for command in stats dump "dump --matched" causality; do
        # shellcheck disable=SC2086 # words
        "$measure" measured "$dpm" $command short > /dev/null 2> err
        used=$(awk '{ print $2 }' measured)
        check "of 500,000 processes that have ended, $command: $used KiB" test "$used" -le $((64 * 1024 + 10 + 64))
    done
fi
finish
