# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# cost_test.sh BUILD_FOLDER: what a recording says that its hooks cost, held to what the kernel has counted over all of it.
# The load comes in bursts, which the moments in which dpm looks must speak for.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
load=$1/tests/load
counting=$1/bench/bpf-stats

need_meter
cd "$scratch" || exit 1
our_programs | cut -d ' ' -f 1 > before

# kernel_says RECORDS: ns for each record, of the programs that are in the listing and were not there before.
kernel_says() {
    jq --rawfile before before --argjson records "$1" '
        ($before | split("\n")) as $before |
        [.[] | select(.id as $id | $before | index($id | tostring) | not) | .run_time_ns // 0] |
        add / $records | floor' listing
}

for pause in 0.02 0.2; do
    rm -rf cost.trace
    "$counting" "$dpm" run -o cost.trace -- sh -c "
        for burst in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do '$load' 20000 64; sleep $pause; done
        bpftool -j prog show > listing" > out 2> err
    said=$("$dpm" stats --json cost.trace | jq .trace.own_cost.bpf_ns_per_record)
    kernel=$(kernel_says "$(sed -n 's/^dpm: \([0-9]*\) records.*/\1/p' err)")
    echo "# pauses of $pause s: dpm says $said ns a record, the kernel $kernel"
    check "with pauses of $pause s the hooks' cost is what the kernel has counted, within a half of it" \
        awk "BEGIN { exit !($said > 0 && $said < 1.5 * $kernel && $kernel < 1.5 * $said) }"
done
finish
