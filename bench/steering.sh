#!/bin/sh
# SPDX-License-Identifier: MIT
# steering.sh BUILD_FOLDER [STUDY]...: what dpm steer gains in the studies of examples/steering: RUNS (10) of each, of SECONDS_EACH (60)
# seconds, without it, with it, and with the best fixed setting found by hand, in direct succession. It needs root, and a quiet machine.
#
#   off, on, best   how much the clients got done a second: medians
#   gain            of `on` over `off`, by run: median, and in brackets its confidence interval of 95% or more, by order statistics: of 9 runs or
#                   more, from the second lowest to the second highest; of 6 to 8, from the lowest to the highest; of fewer, there is none
#   of best         the gain of the median as a part of that of `best`; -: that gains less than 2%, so there is nothing to gain
#   first           seconds until the first act, of those that there were; -: there was none
#   CPU             how many percent of a CPU `dpm steer` itself used: median
#   wrong           how many acts were undone after which the goal was worse than with them, by 5% or more: they had helped
#   acts            of all runs: those that the end came before are neither kept nor undone; undone ones cost what they were tried for
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
    awk -v column="$1" '$column != "-" { print $column }' "$scratch/rows" | sort -g |
        awk '{ all[NR] = $1 } END { print NR == 0 ? "-" : NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'
}
at() {
    awk -v column="$1" '{ print $column }' "$scratch/rows" | sort -g | sed -n "$2p"
}

# wrong: of the decisions of all runs
wrong() {
    jq -s '[range(length - 1) as $i | .[$i] as $undone | .[$i + 1] as $next |
        select($undone.decision == "undone" and $undone.after != null and $next.before != null and $next.time_ns > $undone.time_ns and
            (if $undone.unit == "ns" then $next.before > 1.05 * $undone.after else $next.before < 0.95 * $undone.after end))] | length' "$scratch/all"
}
# acts DECISION: how many
acts() {
    jq -s --arg decision "$1" 'map(select(.decision == $decision)) | length' "$scratch/all"
}

format='%-11s%9s%9s%9s  %-19s%8s%7s%8s%7s  %s\n'
# shellcheck disable=SC2059 # a format
printf "$format" STUDY OFF ON BEST "GAIN, %" "OF BEST" FIRST 'CPU, %' WRONG ACTS
for study in "$@"; do
    : > "$scratch/rows"
    : > "$scratch/all"
    for _ in $(seq "$runs"); do
        off=$("$here/../examples/steering/$study.sh" off) || continue 2
        on=$("$here/../examples/steering/$study.sh" on)
        cat "$DECISIONS" >> "$scratch/all"
        first=$(jq -rs '[.[] | select(.decision == "try")][0].time_ns | if . == null then "-" else . / 1e9 end' "$DECISIONS")
        best=$("$here/../examples/steering/$study.sh" best)
        echo "$off $on $best $first $(cat "$COST")" |
            awk '{ print $1, $2, $3, 100 * ($2 / $1 - 1), $4, $5 }' >> "$scratch/rows"
    done
    # outside of these two are 2 * (1 + n) / 2^n of 100% with the second, and 2 / 2^n with the lowest and the highest
    low=$((runs > 8 ? 2 : 1))
    interval='too few runs'
    [ "$runs" -lt 6 ] || interval=$(printf '%+.0f to %+.0f' "$(at 4 $low)" "$(at 4 $((runs + 1 - low)))")
    first=$(median 5)
    [ "$first" = - ] || first=$(printf '%.1f' "$first")
    part=-
    ! awk "BEGIN { exit !($(median 3) >= 1.02 * $(median 1)) }" || part=$(awk "BEGIN { printf \"%.0f%%\", 100 * ($(median 2) - $(median 1)) / ($(median 3) - $(median 1)) }")
    # shellcheck disable=SC2059 # a format
    printf "$format" "$study" "$(median 1)" "$(median 2)" "$(median 3)" \
        "$(printf '%+.0f (%s)' "$(median 4)" "$interval")" \
        "$part" "$first" "$(printf '%.1f' "$(median 6)")" "$(wrong)" \
        "$(acts try) tried: $(acts kept) kept, $(acts undone) undone, $(acts failed) failed"
done
