#!/bin/sh
# SPDX-License-Identifier: MIT
# view_rates_test.sh BUILD_FOLDER: the plan of a view follows the rates of two queues that are compared: one makes more
# records than can be read, so it is sampled, and the other is not.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
need_meter
need_programs jq
queue=$(realpath "$1/tests/programs/busy-queue")
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
few='' many='' monitor=''
trap 'kill $few $many $monitor 2> kill.err; rm -rf "$scratch"' EXIT

views() {
    cat << EOF_
ATTRIBUTE DEFINITION FOR OBJECT Q
    len: queue.length;
    AT "queue_changed";
END ATTRIBUTE DEF
VIEW DEF Longer (one: Q[1].len, two: Q[2].len)
    ACTIVE WHEN Q[1].len > Q[2].len;
    CORRECT TO WITHIN $1;
END VIEW DEF
EOF_
}
# watches CORRECT: begins a view of two queues of which one changes 100 and the other 4,000 times a second, where 1,000 records can be read.
watches() {
    views "$1" > longer.view
    printf 'place Q[1] here reads 1000\nplace Q[2] here reads 1000\n' > costs
    cp "$queue" few
    cp "$queue" many
    rm -f few.in many.in control
    mkfifo few.in many.in
    ./few few.log 300 100 1 < few.in &
    few=$!
    ./many many.log 300 4000 5 < many.in &
    many=$!
    exec 8> few.in 9> many.in
    "$dpm" view --json --costs costs --object Q=few,many --control control run longer.view > lines 2> err &
    monitor=$!
    wait_for 60 test -S control
    wait_for 60 evaluated
    echo >&8
    echo >&9
    exec 8>&- 9>&-
}
ends() {
    kill -INT $monitor
    wait $monitor
    check_equal "a signal ends it" 0 $?
    kill $few $many
    wait $few $many
    few='' many='' monitor=''
}
state() {
    "$dpm" view control control state > state
}
evaluated() {
    state && jq -e '.views[0].rows[0].reason == null' state
}
# can_read: how many records the note says; 1000, too, if it is not what costs say since the ring was full.
can_read() {
    if grep -q 'of sensors w.* lost' err; then
        echo 1000
    else
        sed -n 's/.* can read \([0-9]*\) records.*/\1/p' err
    fi
}
# says FILTER: the state is so.
says() {
    state && jq -e ".views[0] | $1" state
}

watches '200 MS'
check "the plan changes while it is carried out" wait_for 60 says '.measured.replanned == 1'
check_equal "what is too much is sampled, the other not" 'traced sampled' "$(jq -r '[.views[0].plan.instances[].collection] | join(" ")' state)"
check "the reason is said" grep -q 'note: view Longer: its plan changes: Q\[2\] changes [0-9]* times/s, and the monitor of [^ ]* can read [0-9]* records/s; Q\[2\] is now sampled' err
check_equal "... with what can be read: as costs say, or if records were lost, as was measured" 1000 "$(can_read)"
check "... and is part of the state" says '.measured.why | startswith("Q[2] changes")'
check "the new plan needs less than can be read" wait_for 60 says '.measured.load < 1 and .measured.load > 0'
check "while the plan changes, the row is unknown" wait_for 30 grep -q '"change":"unknown"' lines
check "... and known again" wait_for 30 says '.rows[0].reason == null'
lines=$(wc -l < lines)
more() {
    [ "$(wc -l < lines)" -gt "$lines" ]
}
check "it is evaluated on" wait_for 30 more
check_equal "it is said once" 1 "$(grep -c 'its plan changes' err)"
ends

watches '100 US'
check "no other plan would do, which is said" wait_for 60 grep -q \
    'note: view Longer: cannot be kept: Q\[2\] changes [0-9]* times/s, and the monitor of [^ ]* can read [0-9]* records/s' err
check "... also in the state" says '.measured.load > 1 and .measured.replanned == 0'
ends
finish
