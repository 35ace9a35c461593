# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# cost_test.sh BUILD_FOLDER: the reported overhead of the hooks, compared with the kernel's own count over the whole
# recording. The load comes in bursts, which dpm's samples must represent.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
load=$1/tests/programs/load
counting=$1/bench/bpf-stats

need_meter
cd "$scratch" || exit 1

# kernel_says RECORDS: ns for each record, for the programs in the listing that the recording held.
kernel_says() {
    jq --rawfile held held --argjson records "$1" '
        ($held | split("\n")) as $held |
        [.[] | select(.id as $id | $held | index($id | tostring)) | .run_time_ns // 0] |
        add / $records | floor' listing
}

# record LEAST: bursts with pauses of LEAST to LEAST + 19 hundredths of a second, out of step with the samples.
record() {
    rm -rf cost.trace
    "$counting" "$dpm" run -o cost.trace -- sh -c "
        for burst in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            '$load' 20000 64
            sleep 0.\$(($1 + burst * 7 % 20))
        done
        sed -n 's/^prog_id:[[:space:]]*//p' /proc/\$PPID/fdinfo/* > held
        bpftool -j prog show > listing" > out 2> err
    said=$("$dpm" stats --json cost.trace | jq .trace.own_cost.bpf_ns_per_record)
    kernel=$(kernel_says "$(sed -n 's/^dpm: \([0-9]*\) records.*/\1/p' err)")
    echo "# pauses of 0.$1 s and more: dpm says $said ns a record, the kernel $kernel"
}

pauses=10
! long_ones || pauses='10 20'
for least in $pauses; do
    # if the samples saw too little there is no figure, which may happen, but not every time
    for try in 1 2 3 4; do
        record $least
        [ "$said" = null ] || break
    done
    # Both vary with the load of the machine; a wrong count or unit would be off by more.
    check "with pauses of 0.$least s and more the hooks' cost is what the kernel has counted, by a factor of 8 ($try)" \
        awk "BEGIN { exit !(\"$said\" != \"null\" && $said < 8 * $kernel && $kernel < 8 * $said) }"
done
finish
