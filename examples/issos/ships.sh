#!/bin/sh
# SPDX-License-Identifier: MIT
# ships.sh BUILD_FOLDER [QUIET]: plays the ship game, with a monitor and an adaptation controller, each a process of its own.
# QUIET: seconds without a notification after which the sensor is switched off (1).
set -eu
build=$(realpath "$1")
quiet=${2:-1}
here=$(dirname "$(realpath "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
programs=$build/examples/issos

"$programs/queue-manager" game > queue.out &
queue=$!
mkfifo begin
(read -r go < begin && exec "$programs/ship-user" game 20) & # exec: so that signals reach it
user=$!
python3 "$here/adaptation.py" "$build/dpm" control "$programs" game $user "$quiet" > adaptation.out &
adaptation=$!
while ! grep -q '^port' adaptation.out; do sleep 0.02; done
sed "s/PORT/$(sed -n 's/^port //p' adaptation.out)/" "$here/ships.view" > ships.view
"$build/dpm" view --object "Queue-manager=$queue" --control control run ships.view > monitor.out 2> monitor.err &
monitor=$!
until "$build/dpm" view control control probe Queue-manager.Queuesize > probed 2>&1; do sleep 0.02; done
"$programs/ship-manager" game 50 &
# A command every 20 ms is more than two ships carry out; every 40 ms is less.
echo go > begin
wait $adaptation || status=$?
kill -9 $monitor # as if it had failed: the game goes on
wait $monitor 2> killed.err || :
kill -USR2 $user
wait $user
wait $queue
cat adaptation.out queue.out
exit "${status:-0}"
