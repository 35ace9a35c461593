#!/bin/sh
# SPDX-License-Identifier: MIT
# issos_experiments_test.sh BUILD_FOLDER: the experiments of the Issos paper (examples/issos), against the programs' own
# accounts. (issos_example_test.sh plays the ship game.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
long_ones || skip_all "takes long, and makes hosts: only with ./dev test --all"
need_meter
need_programs ip ssh python3 jq nats-server unshare setpriv
[ "$(id -u)" = 0 ] || skip_all "only root can make hosts"
examples=$(realpath "$(dirname "$0")/../../examples/issos")
build=$(realpath "$1")
cd "$scratch" || exit 1

# play NAME ARGUMENT...: runs an experiment; its result is in the file result
play() {
    name=$1
    shift
    timeout 300 python3 -B "$examples/$name.py" "$build" "$@" > "$name.out" 2> "$name.err"
    check_equal "$name: runs to its end" "0 " "$? $(cat "$name.err")"
    tail -n 1 "$name.out" > result
    sed '$d; s/^/# /' "$name.out"
}

# ---- perturbation ----

play perturbation 3000 3
check_equal "each assignment reaches a sensor, none is lost" '0 0 0' "$(jq -r '[.sensor, .local, .central |
    .hits - .assignments + .lost] | join(" ")' result)"
check_equal "local and central: a record for each assignment" '0 0' \
    "$(jq -r '[.local, .central | .records - .assignments] | join(" ")' result)"
check_equal "sensor: a record when the condition becomes true or false, by the generators' own account; the kernel refuses the others" \
    '0 0' "$(jq -r '.sensor | "\(.records - .changes) \(.records + .refused - .assignments)"' result)"
check "... that halves the records" jq -e '.sensor | .records / .assignments | . > 0.45 and . < 0.55' result
check_equal "central: each record travels" 0 "$(jq -r '.central | .messages - .records' result)"
check "sensor and local: only what becomes true or false does" \
    jq -e '.sensor.messages < .sensor.records / 2 and .local.messages < .local.records' result
check "the paper's order, by what is handed on: sensor, local, central" \
    jq -e '.unmonitored.handed_on < .sensor.handed_on and .sensor.handed_on < .local.handed_on and
        .local.handed_on < .central.handed_on' result
check "CPU time of the host: least unmonitored, most where each record travels" \
    jq -e '.unmonitored.host < .local.host and .local.host < .central.host and .sensor.host < .central.host' result

# ---- quicksort ----

play quicksort
check_equal "the array is sorted" true "$(jq .sorted result)"
check_equal "the planner chooses plan 2 of the paper: queue 1 is probed when the sensor of queue 2 reports" \
    'probed resident,traced sensor' "$(jq -r '.plan | join(",")' result)"
check "the run does so: a request at each crossing of queue 2, by its own account" \
    jq -e '.requests == .crossings and .crossings > 0 and .lost == 0' result
check "... and queue 1 is watched only meanwhile" jq -e '.seen > 0 and .seen < .changes[0]' result
check "the view fires, and each value is that of queue 1" jq -e '.active > 0 and .right == .active' result
check "... each time there is a notification" jq -e '.notified == .active' result
check "requestDuration: the slow requests are those of the workers' own accounts" \
    jq -e '.slow == .slow_by_account and .slow == .slow_right and .slow > 0' result

# ---- no central queue ----

play balance
check_equal "the central monitor judges the balance: notifies of the longer queue" sea1 "$(jq -r .longer result)"
check "... when the difference is over 10" jq -e '.notified.one - .notified.two > 10' result
check "probing shows that the queues become balanced" jq -e '.probes[-1] | .[0] - .[1] | fabs <= 2' result
check_equal "... without any record" 0 "$(jq .records_while_off result)"
check_equal "as many commands are given as were taken" true "$(jq '.taken == .given and .taken[0] > 0' result)"

# ---- many hosts, subnets ----

play many_hosts 120
check_equal "all machines, with their load and traffic, in each phase" '120 120,120 120,120 120,120 120' \
    "$(jq -r 'map("\(.machines) \(.right)") | join(",")' result)"
check_equal "the traffic of the busy subnet" '10.0.2.0/24 150000000' \
    "$(jq -r '.[1].subnets | max_by(.sent) | "\(.subnet) \(.sent)"' result)"
check_equal "a message for each machine comes, whatever it does" '120 120 120 120' "$(jq -r 'map(.messages) | join(" ")' result)"
check "... of about the same size" jq -e 'map(.bytes) | max < 1.3 * min' result
finish
