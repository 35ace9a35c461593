#!/bin/sh
# SPDX-License-Identifier: MIT
# pipeline.sh off|on|best: a pipeline of two stages, of one process each at first, whose heavy stage changes in the middle: an item takes 8 ms
# at one, and 1 ms at the other. Found by hand: 8 processes at each.
. "$(dirname "$0")/study.inc"
needs='/usr/bin/python3'
packages='python3'
port=18195

start() {
    workers=1
    [ "$setting" != best ] || workers=8
    /usr/bin/python3 "$folder/stages" "$scratch" $port $workers >> "$scratch/server.log" 2>&1 &
    pipeline=$!
    servers="$servers $pipeline"
    ready $port
}

policy() {
    cat << POLICY
group source is name stage-source
group first is name stage-first
group second is name stage-second
group sink is name stage-sink
goal received messages/s of sink
workers of first from 1 to 8 by $folder/stage-workers $port first {}
workers of second from 1 to 8 by $folder/stage-workers $port second {}
POLICY
}

load() {
    sleep $((seconds / 2))
    touch "$scratch/swapped"
    sleep $((seconds - seconds / 2))
    stop_steering
    kill $pipeline
    wait $pipeline || :
    awk -v seconds="$seconds" '{ printf "%.1f\n", $1 / seconds }' "$scratch/count"
}

play
