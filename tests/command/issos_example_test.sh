#!/bin/sh
# SPDX-License-Identifier: MIT
# issos_example_test.sh BUILD_FOLDER: the ship game is adapted as the paper says; the monitor may be killed.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
long_ones || skip_all "plays for seconds: only with ./dev test --all"
need_meter
need_programs python3
timeout 120 sh "$(dirname "$0")/../../examples/issos/ships.sh" "$1" > "$scratch/out" 2> "$scratch/err"
check_equal "the game is played to its end" 0 $?
cd "$scratch" || exit 1
check_equal "the queue is adapted, in this order" \
    'notified second_ship_manager user_slowed quiet sensor_off probe probe probe' \
    "$(sed -n 's/^notified: queue of 15.*/notified/p; s/^second ship manager started.*/second_ship_manager/p
        s/^user slowed.*/user_slowed/p; s/^quiet.*/quiet/p; s/^sensor off.*/sensor_off/p; s/^probe:.*/probe/p' out |
        awk '$1 != "notified" || !notified++' | xargs)"
check_equal "each change and probe is one request to the resident monitor" 1 \
    "$(sed -n 's/.*requests to the resident monitor: //p' out | sort -u)"
check_equal "the ship manager was moved, and the user gives way" 'processors 0, nice 10' \
    "$(sed -n 's/^it runs on \(processors .*\)/\1,/p; s/^its nice value is/nice/p' out | xargs)"
check "the kernel refuses what is below the threshold" grep -q 'refused in the kernel [1-9]' out
check "as many commands are given as were taken, with the monitor killed" \
    awk '/^commands taken/ { found = $3 == $5 + 0 && $3 > 15 } END { exit !found }' out
finish
