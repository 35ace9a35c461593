#!/bin/sh
# SPDX-License-Identifier: MIT
# signal_test.sh BUILD_FOLDER: SIGNAL. A program sends known signals, to itself, its threads and children, and a process
# that is not metered; timers, a fault and a process that is not metered send it some. It prints what it expects.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs jq
signals=$1/tests/programs/signals
cd "$scratch" || exit 1

# record METER [FLAGS]: `expected` and `found`, sorted; `records` with all SIGNAL and STREAM records.
record() {
    rm -rf s.trace ready
    sleep 600 &
    other=$!
    sh -c 'for i in $(seq 2400); do [ -s ready ] && break; sleep 0.05; done; kill -USR2 "$(cat ready)"' &
    sender=$!
    "$dpm" run --meter "$1" --kinds pipe ${2:+--flags "$2"} -o s.trace --report report -- "$signals" $other ready > out 2> err
    kill $other $sender 2> kill.err # if the program has not come that far
    wait $other $sender 2> /dev/null
    program=$(cat ready)
    (grep -v thread out; echo "12 $sender $program 0 0") | sort > expected
    "$dpm" dump --json --type SIGNAL,STREAM,TERMINATION,EXEC s.trace > records 2> dump.err
    sed 's/^/# /' dump.err
    jq -r 'select(.event == "SIGNAL") | "\(.signal) \(.sender_pid) \(.receiver_pid) \(.code) \(.result)"' records |
        sort > found
}

# are_all FILTER: whether it holds for each SIGNAL.
are_all() {
    jq -s -e "[.[] | select(.event == \"SIGNAL\") | $1] | all" records
}

if only_kernel "signals as they are sent" "it sees signals as they are delivered"; then
    repeat record kernel
    check "each signal, with sender, receiver, code and result ($(wc -l < found))" diff expected found
    check "a metered sender's record is in its own stream, with its sequence" \
        are_all 'if .sequence != null then .pid == .sender_pid else true end'
    check "... and there are such" test "$(jq -s '[.[] | select(.event == "SIGNAL" and .sequence != null)] | length' records)" \
        -ge 20
    check "no signal of the kernel or of another process is in the stream that it interrupted" \
        are_all "if .sender_pid == 0 or .sender_pid == $sender then .sequence == null else true end"
    tid=$(sed -n 's/^thread [0-9]* //p' out)
    stream=$(jq -s "[.[] | select(.event == \"STREAM\" and .tid == $tid)][0].stream" records)
    check_equal "a signal to a thread names its stream" 4 \
        "$(jq -s "[.[] | select(.event == \"SIGNAL\" and .receiver == $stream)] | length" records)"
    check "a process that is not metered has no stream" \
        are_all "if .receiver_pid == $other then .receiver == 0 else .receiver > 0 end"
    check_equal "dpm dump says what stops and continues a process" "STOP CONT" \
        "$("$dpm" dump --type SIGNAL s.trace | sed -n 's/.*SIG\(STOP\|CONT\) to signals.*/\1/p' | xargs)"
    check_equal "--process shows what the process sent, and what others sent it" 24 \
        "$("$dpm" dump --process "$program" --type SIGNAL s.trace | wc -l)"

    repeat record kernel fork,signal
    check "with no other flags than fork's" diff expected found
    record kernel all,-signal
    check_equal "without the flag there is none" 0 "$(wc -l < found)"
fi

# What is sent to a process that blocks or ignores it, or is not metered, is not seen so.
repeat record ptrace
awk -v other="$other" '$5 != 2 && $3 != other { $5 = 0; print }' expected | sort > seen
check "ptrace: each signal that is delivered ($(wc -l < found))" diff seen found
check "... belongs to no stream" are_all '.sequence == null and .receiver > 0'
record ptrace all,-signal
check_equal "ptrace: without the flag there is none" 0 "$(wc -l < found)"

finish
