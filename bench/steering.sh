#!/bin/sh
# SPDX-License-Identifier: MIT
# steering.sh BUILD_FOLDER [STUDY]...: what dpm steer gains in the studies of examples/steering: RUNS (10) of each, of SECONDS_EACH (60)
# seconds, without it, with it, and with the best fixed setting found by hand, in direct succession. It needs root, and a quiet machine.
#
#   off, on, best   how much the clients got done a second: medians
#   gain            of `on` over `off`, by run: median, and in brackets its confidence interval of 95% or more, by order statistics: of 9 runs or
#                   more, from the second lowest to the second highest; of 6 to 8, from the lowest to the highest; of fewer, there is none
#   of best         the same gain as a part of that of `best`
#   first           seconds until the first act
#   CPU             how many percent of a CPU `dpm steer` itself used: median
#   acts            kept and undone, of all runs; undone ones cost what they were tried for
set -eu
build=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
runs=${RUNS:-10}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
[ $# -gt 0 ] || set -- workers web pipeline neighbours salesman servers idle
export DPM="$build/dpm" DECISIONS="$scratch/decisions" COST="$scratch/cost"

# median COLUMN; at COLUMN RANK: of the rows
median() {
    awk -v column="$1" '{ print $column }' "$scratch/rows" | sort -g |
        awk '{ all[NR] = $1 } END { print NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'
}
at() {
    awk -v column="$1" '{ print $column }' "$scratch/rows" | sort -g | sed -n "$2p"
}

format='%-11s%9s%9s%9s  %-19s%8s%7s%8s  %s\n'
# shellcheck disable=SC2059 # a format
printf "$format" STUDY OFF ON BEST "GAIN, %" "OF BEST" FIRST 'CPU, %' ACTS
for study in "$@"; do
    : > "$scratch/rows"
    : > "$scratch/all"
    for _ in $(seq "$runs"); do
        off=$("$here/../examples/steering/$study.sh" off) || continue 2
        on=$("$here/../examples/steering/$study.sh" on)
        cat "$DECISIONS" >> "$scratch/all"
        first=$(jq -rs '[.[] | select(.decision == "try")][0].time_ns // 0 | . / 1e9' "$DECISIONS")
        best=$("$here/../examples/steering/$study.sh" best)
        echo "$off $on $best $first $(cat "$COST")" |
            awk '{ print $1, $2, $3, 100 * ($2 / $1 - 1), ($3 - $1) == 0 ? 0 : 100 * ($2 - $1) / ($3 - $1), $4, $5 }' >> "$scratch/rows"
    done
    # outside of these two are 2 * (1 + n) / 2^n of 100% with the second, and 2 / 2^n with the lowest and the highest
    low=$((runs > 8 ? 2 : 1))
    interval='too few runs'
    [ "$runs" -lt 6 ] || interval=$(printf '%+.0f to %+.0f' "$(at 4 $low)" "$(at 4 $((runs + 1 - low)))")
    acts=$(jq -rs '"\(map(select(.decision == "kept")) | length) kept, \(map(select(.decision == "undone")) | length) undone"' "$scratch/all")
    # shellcheck disable=SC2059 # a format
    printf "$format" "$study" "$(median 1)" "$(median 2)" "$(median 3)" \
        "$(printf '%+.0f (%s)' "$(median 4)" "$interval")" \
        "$(printf '%.0f%%' "$(median 5)")" "$(printf '%.1f' "$(median 6)")" "$(printf '%.1f' "$(median 7)")" "$acts"
done
