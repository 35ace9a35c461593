#!/bin/sh
# SPDX-License-Identifier: MIT
# other_load_test.sh BUILD_FOLDER: `dpm parallelism --other-load`: a program that computes beside busy loops, and what
# /proc/loadavg says meanwhile: how many tasks run or wait for a CPU. Other programs of the machine may add to both.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq
competing=$1/tests/programs/competing
cd "$scratch" || exit 1
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)

# Each computes until it is stopped, or for twenty seconds of CPU time.
loops=
for _ in 1 2 3; do
    "$competing" 20000 "$cpu" spin &
    loops="$loops $!"
done
timeout 60 sh -c 'while cat /proc/loadavg; do sleep 0.02; done' > loads 2> loads.err &
sampler=$!
"$dpm" run -o busy.trace --report report -- "$competing" 300 "$cpu" spin > out 2> err
# shellcheck disable=SC2086 # several
kill $loops "$sampler"
# shellcheck disable=SC2086
wait $loops "$sampler" 2> /dev/null

"$dpm" parallelism --json --other-load seen busy.trace > seen.json
"$dpm" parallelism --json busy.trace > none.json
tasks=$(jq '.other_load[0].tasks' seen.json)
most=$(sed 's/.* \([0-9]*\)\/.*/\1/' loads | sort -n | tail -n 1)
# The loops are always runnable; CPUs that have not switched since the recording began are not counted yet.
check "three loops are seen: $tasks" jq -e '.other_load[0].tasks > 2.5' seen.json
check "and no more than $most of all tasks" jq -e --argjson most "$most" '.other_load[0].tasks < $most' seen.json
check 'they make step sharing longer' jq -s -e 'map([.rows[] | select(.step == "sharing")]) |
    .[0][0].tmax_ns - .[1][0].tmax_ns > 2 * .[1][0].T_ns' seen.json none.json
check 'and nothing else' jq -s -e 'map([.rows[] | select(.step != "sharing")]) | .[0] == .[1]' seen.json none.json
check 'without the option there is none' jq -e '.other_load == []' none.json

"$dpm" parallelism --json --other-load 2 --cores 1 busy.trace > two.json
check 'two other tasks: what it computes takes thrice as long, and its waits as long as before' jq -e '
    (.rows | map(select(.assignment == "one-each") | {key: .step, value: .}) | from_entries) as $of |
    ($of.sharing.tmax_ns - $of.max.tmax_ns - 2 * $of.max.T_ns | fabs) < 1000' two.json
"$dpm" parallelism --other-load seen busy.trace > seen.txt
check 'a line says how many' grep -qE 'while this run used CPU time, [0-9.]+ other tasks ran or waited for' seen.txt
"$dpm" parallelism --other-load 2 busy.trace > two.txt
check 'also if they are given' grep -q 'Step sharing: 2 other tasks want a processor of each machine' two.txt
for wrong in -1 some 1x nan 1e9; do
    "$dpm" parallelism --other-load "$wrong" busy.trace > wrong.txt 2>&1
    check_equal "refused: $wrong" "2 dpm: parallelism: --other-load '$wrong'" "$? $(cut -d: -f1-3 wrong.txt |
        head -n 1 | grep -o "^dpm: parallelism: --other-load '[^']*'")"
done
"$dpm" parallelism --other-load 2 --step delay busy.trace > wrong.txt 2>&1
check_equal 'refused without step sharing, which alone counts them' 2 $?

# ---- slices: what is drawn ----

"$dpm" parallelism --slices slices.svg --one-machine --cores 1 --other-load 2 busy.trace > slices.txt
check 'slices are drawn: one thread beside two tasks has a third' grep -q '>1/3</text>' slices.svg
check 'of the last assignment' grep -q 'Step sharing, one-machine' slices.svg
"$dpm" parallelism --slices slices.svg --step delay busy.trace > wrong.txt 2>&1
check_equal 'they need step sharing' 2 $?
finish
