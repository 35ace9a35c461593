#!/bin/sh
# SPDX-License-Identifier: MIT
# each_wait_test.sh BUILD_FOLDER: a program goes through a random sequence of waits of each kind, which it measures with
# clocks of its own; dpm why accounts for the same times, kind by kind. DPM_SEED repeats a sequence.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs jq
grep -q . /proc/thread-self/schedstat || skip_all "the kernel does not tell how long a thread waits for a CPU"
program=$1/tests/programs/waits-of-each-kind
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
cd "$scratch" || exit 1

"$program" peer . > peer.out 2>&1 &
peer=$!
trap 'kill $peer; rm -rf "$scratch"' EXIT
wait_for 30 grep -q ready peer.out

# account SEED PHASES [KIND]...: of a run, in why.json, and the program's own in truth.json.
account() {
    account_seed=$1
    account_phases=$2
    shift 2
    rm -rf each.trace
    watched "$dpm" run --meter kernel -o each.trace --report none -- "$program" "$account_seed" "$account_phases" . "$@" > truth.json 2> phases
    "$dpm" why --json each.trace > why.json
}

# Each kind within 3 % of the elapsed time, or 1 ms for each phase: dpm takes delays of less than 1 ms for a part of the wait.
# What runs before main() counts for dpm only. When a thread neither ran nor waited, as when the host of a virtual machine
# took the CPU, dpm says unknown, and the program takes it for a part of the wait: so $stalled is allowed for.
agrees='
    def joined: if $short == "" then . else .no_cpu += .[$short] | .[$short] = 0 end;
    ($truth[0] | joined) as $true | .elapsed_ns as $elapsed |
    (([$elapsed * 0.03, 1e6 * ([$true.phases[]] | add)] | max) + $elapsed - $true.elapsed + .spent_on_ns.unknown + $stalled) as $allowed |
    [.spent_on_ns | del(.unknown) | joined | to_entries[] | {key, dpm: .value, true: ($true[.key] // 0)} |
     select(((.dpm - .true) | fabs) > $allowed)] |
    if length == 0 then true else (.[] | "\(.key): \(.dpm / 1e6) ms, in truth \(.true / 1e6)"), false end'

# agrees NAME [KIND]: with KIND, delays after waits of this kind are part of them.
agrees() {
    if jq -e -r --argjson stalled "$stalled" --arg short "${2:-}" --slurpfile truth truth.json "$agrees" why.json > differences; then
        pass "$1"
    else
        fail "$1" "$(cat differences phases)"
    fi
    check "... all of it adds up" jq -e '([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns' why.json
    # before main() and after it, it may have waited for a CPU, too
    check "... and is the elapsed time" jq -e --argjson stalled "$stalled" --slurpfile truth truth.json \
        '(.spent_on_ns.no_cpu - ($truth[0].no_cpu // 0)) as $outside | (.elapsed_ns - $truth[0].elapsed) |
        . >= 0 and . < $truth[0].elapsed * 0.01 + 5e7 + $stalled + ([$outside, 0] | max)' why.json
    check "... nothing else is unknown" jq -e ".spent_on_ns.unknown <= 0.05 * .elapsed_ns + $stalled" why.json
}

runs=1
! long_ones || runs='1 2 3'
for run in $runs; do
    account $((seed + run)) 24
    agrees "a random sequence, seed $((seed + run))"
done
# A poll that times out makes no record: what comes next must not be taken for a part of it.
account "$seed" 12 poll disk sleep compute
agrees "polls between other waits, seed $seed"
# A CPU that others use, too: the delay after a wait is no part of the wait.
account "$seed" 12 contend outside
agrees "waits beside competitors, seed $seed"
# Each phase has hundreds of short waits for the disk, and delays of less than 1 ms after them.
if long_ones; then
    account "$seed" 12 contend outside disk
    agrees "short waits beside competitors, seed $seed" disk
else
    skip "short waits beside competitors" "takes long: only with ./dev test --all"
fi
finish
