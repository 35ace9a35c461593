#!/bin/sh
# SPDX-License-Identifier: MIT
# switching_test.sh BUILD_FOLDER: what processes record is changed a thousand times while they send and receive. Every record
# has the bytes that the program says, no sequence number is missing, and messages are matched exactly.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs python3
checker=$(cd "$(dirname "$0")" && pwd)/switched.py
switching=$1/tests/programs/switching
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
cd "$scratch" || exit 1

switched() {
    rm -rf switched.trace
    check "flags change while processes run, seed $seed" sh -c "timeout 60 $switching switched.trace 1000 $seed > out"
    pid=$(cat out)
    "$dpm" dump --matched --json switched.trace > records 2> dump.err
}
repeat switched
check_equal "all is as the program says, seed $seed" "0 wrong" "$(python3 "$checker" "$pid" < records > checked; sed 's/^/# /' checked >&2; tail -n 1 checked)"
check "... of thousands of messages" awk '/edge/ { for (i = 1; i < NF; i++) if ($(i + 1) == "edge" || $(i + 1) == "SEND") if ($i < 1000) exit 1 }' checked
"$dpm" stats switched.trace > out
check "the report says so" grep -q '^Events of these kinds were metered only for a time, or for some processes: send,' out
check "... and calls no message lost" sh -c '! grep -q -e unmatched -e "never received" out'
finish
