#!/bin/sh
# SPDX-License-Identifier: MIT
# growing_test.sh BUILD_FOLDER: dpm top of the traces of two machines that grow while it reads them. Whatever has come, each
# picture has the rate of the recorded requests: 98 a second.
#
#     db1    |----packet----|----packet----|        these have come: up to here all is known,
#     web1   |--packet--|--packet--|--packet--|     the rest waits
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
build=$1
dpm=$1/dpm

cd "$scratch" || exit 1
copier=$build/tests/programs/copy-trace
each=600 # ms between two packets; a picture waits 2 s for what is not known yet, then shows what there is
most=1500

# grows NAME [MACHINE=TIME]...: NAME.top has the pictures, NAME.slow the longest pause between two packets, in ms.
grows() {
    /usr/bin/python3 "$tests/growing.py" "$build" "$@" || exit 1
    mkdir "$1.copies"
    "$copier" "$1/db1" "$1.copies/db1" each=$each first=2 > "$1.db1" &
    db1=$!
    {
        [ "$1" != joins ] || wait_for 30 has_pictures "$1.top"
        exec "$copier" "$1/web1" "$1.copies/web1" each=$each first=4 > "$1.web1"
    } &
    web1=$!
    wait_for 30 begun "$1" || exit 1
    COLUMNS=160 timeout 60 "$dpm" top --interval 300ms "$1.copies" > "$1.top" 2> "$1.err"
    echo $? > "$1.status"
    wait $web1 && wait $db1 || exit 1
    sed -n 's/ ms at most .*//p' "$1.web1" "$1.db1" | sort -n | tail -1 > "$1.slow"
}

# begun NAME: dpm top sees traces when they have records.
begun() {
    [ -s "$1.copies/db1/control" ] && { [ "$1" = joins ] || [ -s "$1.copies/web1/control" ]; }
}

# has_pictures FILE
has_pictures() {
    [ "$(grep -c '^dpm top  ' "$1")" -ge 2 ]
}

# rates NAME: requests a second that the server answers, a line for each picture.
rates() {
    awk '/^server/ { print $4 }' "$1.top"
}

# are_right NAME FROM: from this picture on.
are_right() {
    rates "$1" | awk -v from="$2" 'NR >= from && !($1 >= 88 && $1 <= 108) { print; wrong = 1 } END { exit wrong || NR <= from }'
}

# shows NAME WORDS FROM
shows() {
    if [ "$(cat "$1.slow")" -gt $most ]; then
        skip "$2: each picture has the rate of the requests" "the copies had pauses of over $most ms"
        return
    fi
    check_equal "$2: dpm top ends with the traces" 0 "$(cat "$1.status" "$1.err")"
    check "$2: each picture has the rate of the requests" are_right "$1" "$3"
}

grows equal &
grows apart db1=200ms &
grows wrong db1=2s &
grows behind web1=2s &
grows joins &
wait
shows equal "traces that grow" 1
shows apart "a clock that is 200 ms ahead" 1
# until messages have told how far, the first picture or two may have too much or too little
shows wrong "a clock that is 2 s ahead" 3
shows behind "the other one" 3
# its earlier records are no reason to wait
shows joins "a machine that joins" 1

finish
