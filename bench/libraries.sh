#!/bin/sh
# SPDX-License-Identifier: MIT
# libraries.sh BUILD_FOLDER: what a probe in a library costs a thread that reaches it, in ns of its own CPU time, which other load
# disturbs little: not probed; probed in a metered process, where it makes a record; and in any other process of the machine
# that has loaded the same library. The median of some rounds.
set -eu
dpm=$1/dpm
programs=$1/tests/programs
rounds=${ROUNDS:-7}
count=${COUNT:-20000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$programs/libjvm.so" .

median() {
    sed -n 's/^\([0-9]*\) ns$/\1/p' "$1" | sort -n | awk '{ list[NR] = $1 } END { print list[int((NR + 1) / 2)] " ns" }'
}

round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    "$programs/collecting" ./libjvm.so "$count" > out 2>> plain
    rm -rf trace
    # the second one is not metered: it is there before, and waits for the probes that the first one brings
    "$programs/collecting" ./libjvm.so "$count" wait > out 2>> other &
    "$dpm" run --sensors -o trace -- "$programs/collecting" ./libjvm.so "$count" wait > out 2>> metered
    wait
done
echo "not probed               $(median plain)"
echo "probed, metered          $(median metered)"
echo "probed, another process  $(median other)"
