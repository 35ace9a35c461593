#!/bin/sh
# SPDX-License-Identifier: MIT
# switching_test.sh BUILD_FOLDER: what processes record, flags and kinds of paths, is changed a thousand times while they send and receive. Every record
# has the bytes that the program says, no sequence number is missing, and messages are matched exactly.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs python3
checker=$(cd "$(dirname "$0")" && pwd)/switched.py
switching=$1/tests/programs/switching
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
cd "$scratch" || exit 1

# switched NAME CHANGES "dpmd"|"" COMMAND...: the program, run by the command.
switched() {
    name=$1 changes=$2 service=$3
    shift 3
    rm -rf switched.trace
    check "$name: flags and kinds change while processes run, seed $seed" sh -c "timeout 60 $* ./switching switched.trace $changes $seed $service > out"
    "$dpm" dump --matched --json switched.trace > records 2> dump.err
}

# agrees LEAST: the records agree with what the program says; it says something of so many messages, at least.
agrees() {
    python3 "$checker" "$(cat out)" < records > checked
    sed 's/^/# /' checked
    check_equal "... all is as the program says" "0 wrong" "$(tail -n 1 checked)"
    check "... of many messages" awk -v least="$1" '/edge/ { for (i = 1; i < NF; i++) enough += $(i + 1) ~ /edge|SEND/ && $i >= least } END { exit enough != 2 }' checked
}

cp "$switching" .
repeat switched "our meter" 1000 "" env
agrees 1000
"$dpm" stats switched.trace > out
check "the report says so" grep -q '^Events of these kinds were metered only for a time, or for some processes: send,' out
check "... also of the kinds" grep -q '^Connections of these kinds were metered only for a time, or for some processes: .*tcp.*pipe' out
check "... and calls no message lost" sh -c '! grep -q -e unmatched -e "not received" out'

# ---- the same by a user for whom dpmd loads the meter ----

if command -v setpriv > /dev/null && [ "$(id -u)" = 0 ]; then
    chmod 755 . switching
    mkdir user
    chmod 777 user
    cp switching user
    "$1/dpmd" --socket "$scratch/socket" --folder "$scratch/sessions" 2> dpmd.err &
    dpmd=$!
    wait_for 30 listens_at "$scratch/socket"
    cd user || exit 1
    repeat switched "dpmd's meter" 200 dpmd setpriv --reuid 65534 --regid 65534 --clear-groups env DPM_SOCKET="$scratch/socket"
    agrees 200
    kill $dpmd
    wait $dpmd
fi
check_not "no process is left over" pgrep -f "^./switching --load"
finish
