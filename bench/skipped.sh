#!/bin/sh
# SPDX-License-Identifier: MIT
# skipped.sh BUILD_FOLDER: how often the kernel skips hooks, because they are already running on that processor (dpm-dump(1),
# LOST), when a recording has other load beside it: four busy loops. For each kind of path RUNS recordings (100) of a small
# load of messages:
#
#   tcp, unix, pipe, udp    1,000 round trips of 64 bytes between two processes on one processor (pingpong.c)
#   mq                      2,000 messages through a POSIX message queue (use_queues.c)
#
# A row for each kind: of how many recordings hooks were skipped; how many records that concerns, at most; how many messages
# were sent; how many of them were held up: their call took more than 1 ms, and did not wait for buffer space, so its
# processor was taken from it; and how many receives lead to no certain sender. KINDS and BUSY (4) choose less.
set -eu
build=$1
runs=${RUNS:-100}
kinds=${KINDS:-tcp unix pipe udp mq}
busy=${BUSY:-4}
scratch=$(mktemp -d)
loops=
# shellcheck disable=SC2086 # one word for each
trap '[ -z "$loops" ] || kill $loops 2> "$scratch/kill.err" || :; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch"

"$build/dpm" run --meter kernel -o trace -- true > said 2>&1 || {
    echo "$0: the kernel meter does not work here: $(tail -n 1 said)" >&2
    exit 1
}

i=0
while [ $i -lt "$busy" ]; do
    timeout 7200 sh -c 'while :; do :; done' &
    loops="$loops $!"
    i=$((i + 1))
done

# record KIND: a line of the five figures of one recording.
record() {
    rm -rf trace log
    case $1 in
    mq) set -- "$1" "$build/tests/programs/use-queues" posix 1 1 2000 log ;;
    *) set -- "$1" "$build/bench/pingpong" "$1" 1000 60 ;;
    esac
    kind=$1
    shift
    "$build/dpm" run --meter kernel --kinds "$kind" --ring 64M -o trace -- "$@" > said 2>&1 || {
        echo "$0: $kind: $(tail -n 1 said)" >&2
        exit 1
    }
    "$build/dpm" dump --json --matched trace 2> dump.err | jq -r -s --arg kind "$kind" '
        map(select(.event == "SEND" and (.kind | startswith($kind)))) as $sends |
        map(select(.event == "RECEIVE" and .bytes > 0 and (.kind | startswith($kind)))) as $receives |
        (map(select(.event == "SENDCALL") | "\(.stream) \(.path) \(.sequence + 1)")) as $waited |
        ([.[] | select(.event == "LOST" and .reason == 2).count] | add // 0) as $skipped |
        [if $skipped > 0 then 1 else 0 end, $skipped, ($sends | length),
            ([$sends[] | select(.span_ns > 1000000 and ("\(.stream) \(.path) \(.sequence)" | IN($waited[]) | not))] | length),
            ([$receives[] | select([.edges[]?.kind | select(IN("exact", "ordered", "inferred"))] | all(. == "exact") and length > 0 | not)] | length)] | map(tostring) | join(" ")'
}

echo
echo "hooks that the kernel skips: Linux $(uname -r), $(nproc) CPUs, $busy busy loops beside, $runs recordings of each kind"
echo "          recordings        records not   messages  held up        without a"
echo "          with skipped      made, at      sent      for more       certain"
echo "kind      hooks             most                    than 1 ms      sender"
for kind in $kinds; do
    i=0
    : > figures
    while [ $i -lt "$runs" ]; do
        record "$kind" >> figures
        i=$((i + 1))
    done
    awk -v kind="$kind" -v runs="$runs" '{ for (i = 1; i <= 5; i++) sum[i] += $i }
        END { printf "%-9s %-17s %-13d %-9d %-14d %d\n", kind, sum[1] + 0 " of " runs, sum[2], sum[3], sum[4], sum[5] }' figures
done
