#!/bin/sh
# SPDX-License-Identifier: MIT
# cases.sh BUILD_FOLDER [CASE]...: whether `dpm whatif` predicts what a change does to real programs. Each case (examples/cases) is
# recorded as it is, its change is predicted from that, and then it is made: RUNS times (5), in direct succession. Of both, three
# seconds are recorded; the figures are those of the clients, by their own clocks. It needs root.
#
#   before     requests a second, and median latency (that of pgbench, in pool and commit, is the average; some
#              have no latency, and buffer has MB instead of requests)
#   predicted  what the model says the change makes of it, times before
#   real       after the change
#   off        difference of predicted from real, in per cent
#   at best    the same, if all that was computed just before and after a wait that goes belonged to it: the other end of the range
#   between    the range that the answer gives, in the columns of predicted and real, and in how many runs it holds what came
#   saved      the same of what the change takes away from the latency
#   model      by how much the model is off without a change
#
# Figures are medians of the runs; `off` that of the runs' differences, and in brackets the lowest and the highest.
set -eu
build=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
folder=$here/../examples/cases
runs=${RUNS:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
[ $# -gt 0 ] || set -- children threads pool commit fsync nodelay trips limit prefork threadpool buffer

# recorded CASE SETTING: the clients' two figures, while three seconds of it are recorded.
recorded() {
    rm -rf "$scratch/trace" "$scratch/begun"
    BEGUN=$scratch/begun "$folder/$1.sh" "$2" > "$scratch/figures" &
    case=$!
    until [ -e "$scratch/begun" ]; do
        kill -0 "$case" || exit 1
        sleep 0.1
    done
    # shellcheck disable=SC2046 # several words
    "$build/dpm" acquire $(for name in $("$folder/$1.sh" programs); do echo "--name $name"; done) --duration 3s \
        -o "$scratch/trace" --report "$scratch/report" > "$scratch/err" 2>&1 || {
        cat "$scratch/err" >&2
        exit 1
    }
    wait "$case"
    cat "$scratch/figures"
}

# median COLUMN; range COLUMN: of the rows.
median() {
    awk -v column="$1" '{ print $column }' "$scratch/rows" | sort -g |
        awk '{ all[NR] = $1 } END { print NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'
}
range() {
    awk -v column="$1" '{ print $column }' "$scratch/rows" | sort -g | awk 'NR == 1 { low = $1 } END { printf "%+.0f to %+.0f", low, $1 }'
}

# held LOW HIGH REAL: in how many runs the range holds what came of the change; without one it is a tenth on both sides.
held() {
    awk -v low="$1" -v high="$2" -v real="$3" '
        { l = $low; h = $high; if (l == h) { l *= 0.9; h *= 1.1 }; held += l <= $real && $real <= h }
        END { print "holds " held + 0 " of " NR }' "$scratch/rows"
}

format='%-10s %-11s%9s%11s%9s  %-19s%7s%7s\n'
# shellcheck disable=SC2059 # a format
printf "$format" CASE "" BEFORE PREDICTED REAL "OFF, %" SAVED MODEL
for case in "$@"; do
    change=$("$folder/$case.sh" change 2> "$scratch/err") || {
        echo "$case: skipped: $(cat "$scratch/err")"
        continue
    }
    : > "$scratch/rows"
    for _ in $(seq "$runs"); do
        before=$(recorded "$case" before)
        # shellcheck disable=SC2086 # several words
        "$build/dpm" whatif --json $change "$scratch/trace" > "$scratch/predicted" || continue 2
        after=$(recorded "$case" after)
        jq -r --arg before "$before" --arg after "$after" '
            def figures: split(" ") | map(if . == "-" then 1 else tonumber end);
            ($before | figures) as [$rate, $median] | ($after | figures) as [$rate_is, $median_is] |
            def rate: .requests_per_second // (1e9 / .elapsed_ns); # of a run: how often there would be time for it
            def median: .latency_p50_ns // 1;
            ($rate / (.recorded | rate)) as $per_second | ($median / (.recorded | median)) as $per_ns |
            ((.then | rate) * $per_second) as $rate_then | ((.then | median) * $per_ns) as $median_then |
            [$rate, $rate_then, $rate_is, 100 * ($rate_then / $rate_is - 1), $median, $median_then, $median_is,
                100 * ($median_then / $median_is - 1), 100 * .off,
                if $median == $median_is then 0 else 100 * (($median - $median_then) / ($median - $median_is) - 1) end,
                (.at_best | if . == null then 0, 0 else rate * $per_second, median * $per_ns end),
                (if .low == null then $rate_then, $rate_then, $median_then, $median_then
                 else ([.low, .high | rate] | sort[]) * $per_second, (.low, .high | median) * $per_ns end)] |
            map(tostring) | join(" ")' "$scratch/predicted" >> "$scratch/rows"
    done
    # shellcheck disable=SC2059 # a format
    printf "$format" "$case" requests/s "$(median 1 | cut -c1-7)" "$(median 2 | cut -c1-7)" "$(median 3 | cut -c1-7)" \
        "$(printf '%+.0f' "$(median 4)") ($(range 4))" '' "$(printf '%.0f%%' "$(median 9)")"
    [ "$(median 11)" = 0 ] || printf "$format" "" "  at best" "" "$(median 11 | cut -c1-7)" "" "" "" ""
    printf "$format" "" "  between" "" "$(median 13 | cut -c1-7)" "$(median 14 | cut -c1-7)" "$(held 13 14 3)" "" ""
    [ "${before#* }" != - ] || continue
    printf "$format" "" "P50, ms" "$(median 5 | cut -c1-6)" "$(median 6 | cut -c1-6)" "$(median 7 | cut -c1-6)" \
        "$(printf '%+.0f' "$(median 8)") ($(range 8))" "$(printf '%+.1f' "$(median 10)")" ''
    [ "$(median 11)" = 0 ] || printf "$format" "" "  at best" "" "$(median 12 | cut -c1-6)" "" "" "" ""
    printf "$format" "" "  between" "" "$(median 15 | cut -c1-6)" "$(median 16 | cut -c1-6)" "$(held 15 16 7)" "" ""
done
