#!/bin/sh
# SPDX-License-Identifier: MIT
# polling.sh: waits for three files that come after 0.55 s each, by looking for them every 0.2 s. Writes into `own` how long it slept.
now() {
    date +%s%N
}

began=$(now)
slept=0
for i in 1 2 3; do
    (sleep 0.55 && : > "file$i") &
    while [ ! -e "file$i" ]; do
        sleep 0.2
        slept=$((slept + 200))
    done
done
echo $$ $slept 0 $((($(now) - began) / 1000000)) > own
