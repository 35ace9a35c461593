#!/bin/sh
# SPDX-License-Identifier: MIT
# limits_test.sh BUILD_FOLDER: the state of the machine and the limits of cgroups in a recording, compared with what
# the recorded programs and this test read in /proc and in the cgroup's own files. With each meter that works here.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_programs jq /usr/bin/python3
need_any_meter
meters=$meter
[ "$meter" = ptrace ] || ! "$dpm" run --meter ptrace -o "$scratch/probe.trace" -- true > "$scratch/probe.out" 2>&1 ||
    meters="kernel ptrace"
cd "$scratch" || exit 1

# record NAME ARGUMENT...: `dpm run` with the meter; its exit status is in `recorded`. No messages matter: with one kind of
# paths few hooks are loaded.
record() {
    name=$1
    shift
    rm -rf "$name.trace"
    timeout 120 "$dpm" run --meter "$meter" --kinds pipe -o "$name.trace" "$@" > out 2> err
    recorded=$?
    "$dpm" dump --json "$name.trace" > records.json 2> dump.err
}

# holds NAME CONDITION: of the records as a list. `first` and `last`: their first and last SUMMARY.
holds() {
    check "$1 ($meter)" jq -e -s "[.[] | select(.event == \"SUMMARY\")] as \$all |
        \$all[0] as \$first | \$all[-1] as \$last | $2" records.json
}

# a file of /proc, as numbers: NAME of a line --> its number
numbers() {
    jq -R -n '[inputs | capture("^(?<key>[A-Za-z_()]+):? +(?<value>[0-9]+)") | {(.key): (.value | tonumber)}] | add' "$1"
}

# ---- the machine ----

machine_cases() {
    record machine -- sh -c 'cat /proc/stat > stat.before; cat /proc/vmstat > vmstat.before
        sleep 1.2
        cat /proc/stat > stat.after; cat /proc/vmstat > vmstat.after'
    # the columns of the first line, in ns: user and nice; idle
    tick=$((1000000000 / $(getconf CLK_TCK)))
    user_before=$(awk -v t=$tick '$1 == "cpu" { printf "%.0f", ($2 + $3) * t }' stat.before)
    user_after=$(awk -v t=$tick '$1 == "cpu" { printf "%.0f", ($2 + $3) * t }' stat.after)
    holds "SUMMARY comes at the beginning and at the end" \
        "(\$all | length >= 2) and \$last.time_ns - \$first.time_ns >= 1200000000"
    holds "... and once a second" "(\$all | length) <= (\$last.time_ns - \$first.time_ns) / 1000000000 + 2"
    holds "CPU time is that of /proc/stat, which the command has read in between" \
        "\$first.cpu_user <= $user_before and \$last.cpu_user >= $user_after"
    numbers vmstat.before > before.json
    numbers vmstat.after > after.json
    holds "... and so are major page faults" "\$first.major_faults <= $(jq .pgmajfault before.json) and
        \$last.major_faults >= $(jq .pgmajfault after.json)"
    numbers /proc/meminfo > memory.json
    holds "the machine has as much memory as /proc/meminfo says" \
        "\$first.memory == $(jq .MemTotal memory.json) * 1024 and \$last.memory_available <= \$last.memory"
    holds "at least the recorder was running" "\$all | all(.runnable >= 1)"
    if [ -r /proc/pressure/cpu ] && cat /proc/pressure/cpu > pressure 2> pressure.err; then
        now=$(sed -n 's/^some.*total=//p' /proc/pressure/cpu)
        holds "waits for CPUs are those of /proc/pressure" \
            "\$first.cpu_waited <= \$last.cpu_waited and \$last.cpu_waited <= ${now}000"
    else
        skip "waits for CPUs are those of /proc/pressure ($meter)" "this kernel has no pressure stall information"
    fi
    holds "nothing is older than what stands before it" \
        '[.[] | .time_ns] as $times | ($times | sort) == $times'
    "$dpm" stats --json machine.trace > stats.json
    check "dpm stats has the differences ($meter)" jq -e --slurpfile records records.json '
        [$records[] | select(.event == "SUMMARY")] as $all | .loads[0] |
        .elapsed_ns == $all[-1].time_ns - $all[0].time_ns and
        .major_faults == $all[-1].major_faults - $all[0].major_faults and
        (.cpu.user + .cpu.system + .cpu.idle + .cpu.stolen | . > 0.99 and . < 1.01)' stats.json
    check_equal "... in CSV, too ($meter)" "$(jq -r '.loads[0] | "\(.machine),\(.elapsed_ns),\(.cpus)"' stats.json)" \
        "$("$dpm" stats --csv --by load machine.trace | sed -n '2s/^\([^,]*,[^,]*,[^,]*\),.*/\1/p')"
    check "... and as a table ($meter)" sh -c "'$dpm' stats machine.trace | grep -q '^Machine\$'"
    if command -v babeltrace2 > /dev/null; then
        check_equal "another reader finds them ($meter)" "$(grep -c '"SUMMARY"' records.json)" \
            "$(babeltrace2 machine.trace | grep -c ' SUMMARY: ')"
    else
        skip "another reader finds them ($meter)" "babeltrace2 is not installed"
    fi

    record none --flags all,-summary -- true
    holds "without the flag there is none" 'all(.event != "SUMMARY" and .event != "CGROUP")'
    record short -- true
    holds "the shortest recording has two" '$all | length == 2 or $last.time_ns - $first.time_ns >= 1000000000'
    check "... and nothing is found about machines in it ($meter)" sh -c "'$dpm' report --json short.trace |
        jq -e '.statistics.loads[0].elapsed_ns >= 500000000 or (.findings | all(.topic != \"CPU\" and .topic != \"Limits\" and .topic != \"Memory\" and .topic != \"Disks\"))'"

    # until the second one has come, which takes two seconds
    record live --interval 1s -- sh -c 'for try in $(seq 300); do
        [ "$(grep -c "^Machine$" err)" -lt 2 ] || exit 0
        sleep 0.1
    done
    exit 1'
    check_equal "reports while it records have the machine ($meter)" 0 $recorded
}

# The recorder reads the state of the machine and of cgroups: with each meter it is the same code.
first=${meters%% *}
others=${meters#"$first"}
long_ones && first=$meters && others=
for meter in $first; do
    machine_cases
done
[ -z "$others" ] || skip "the machine with$others" "takes long: only with ./dev test --all"

# ---- a cgroup that uses up its CPU limit ----

# make_group: sets `group` to a new cgroup that may use a fifth of a CPU; empty: there can be none here.
make_group() {
    group=
    unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    v1=$(awk '$3 == "cgroup" && ("," $4 ",") ~ ",cpu," { print $2; exit }' /proc/mounts)
    if [ -n "$v1" ] && mkdir "$v1/dpm-limits-$$" 2> mkdir.err; then
        group=$v1/dpm-limits-$$
        echo 100000 > "$group/cpu.cfs_period_us" && echo 20000 > "$group/cpu.cfs_quota_us"
    elif [ -n "$unified" ] && grep -qw cpu "$unified/cgroup.subtree_control" 2> grep.err &&
        mkdir "$unified/dpm-limits-$$" 2> mkdir.err; then
        group=$unified/dpm-limits-$$
        echo "20000 100000" > "$group/cpu.max"
    fi
}

# Uses 0.4 s of CPU time, which takes two seconds with a fifth of a CPU; then says what the cgroup's file says.
cat > spin.py << 'END'
import sys, time

while time.process_time() < 0.4:
    pass
sys.stdout.write(open(sys.argv[1]).read())
END

limit_cases() {
    record limit -- sh -c "echo 0 > '$group/cgroup.procs'; cat '$group/cpu.stat' > before
        exec /usr/bin/python3 spin.py '$group/cpu.stat'"
    cp out during
    cp "$group/cpu.stat" after
    for when in before during after; do
        numbers $when > $when.json
    done
    jq -s '[.[] | select(.event == "CGROUP" and .quota == 20000000)]' records.json > limited.json
    check "the limit is recorded ($meter)" jq -e 'length >= 2 and all(.period == 100000000)' limited.json
    # throttled FILE: how often, as a test read it
    check "periods in which it was used up are those of the cgroup's file, read by the program and by the test ($meter)" \
        jq -e --argjson before "$(jq .nr_throttled before.json)" --argjson during "$(jq .nr_throttled during.json)" \
        --argjson after "$(jq .nr_throttled after.json)" \
        '.[0].throttled_periods >= $before and .[-1].throttled_periods >= $during and
        .[-1].throttled_periods <= $after and $during > $before' limited.json
    # v1 has ns, and v2 us
    check "... and so is the time ($meter)" \
        jq -e --argjson during "$(jq '.throttled_time // (.throttled_usec * 1000)' during.json)" \
        --argjson after "$(jq '.throttled_time // (.throttled_usec * 1000)' after.json)" \
        '.[-1].throttled >= $during and .[-1].throttled <= $after' limited.json
    "$dpm" stats --json limit.trace > stats.json
    check "dpm stats names it, with the limit and how often it was used up ($meter)" \
        jq -e --arg name "/dpm-limits-$$" --slurpfile records limited.json '
        $records[0] as $of | [.cgroups[] | select(.name == $name)] | length == 1 and (.[0] |
        .cpu_limit == 0.2 and .throttled_periods == $of[-1].throttled_periods - $of[0].throttled_periods and
        .throttled_ns == $of[-1].throttled - $of[0].throttled)' stats.json
    check "... as a table ($meter)" sh -c "'$dpm' stats limit.trace | sed -n '/^Control groups\$/,/^\$/p' |
        grep -q '^/dpm-limits-$$ .* 0.20 '"
    # A busy machine gives it hardly more than its limit, which is then no cause of slowness.
    jq -e --arg name "/dpm-limits-$$" '[.cgroups[] | select(.name == $name)][0] |
        .throttled_ns >= 0.2 * .elapsed_ns and .throttled_periods >= 0.2 * .periods' stats.json > slowed || {
        skip "dpm report finds it ($meter)" "other programs slowed it down, not its limit"
        return
    }
    check "dpm report finds it ($meter)" sh -c "'$dpm' report --json limit.trace |
        jq -e '.findings | any(.topic == \"Limits\" and (.text | test(\"^/dpm-limits-$$ used up its CPU limit \\\\(0.20 CPUs\\\\) in [0-9]+% of its periods\")))'"
}

make_group
if [ -z "$group" ]; then
    skip "a cgroup that uses up its limit" "no cgroup with a CPU limit can be made here"
else
    trap 'rmdir "$group"; rm -rf "$scratch"' EXIT
    for meter in $first; do
        limit_cases
    done
    [ -z "$others" ] || skip "a cgroup that uses up its limit with$others" "takes long: only with ./dev test --all"
fi

# ---- processes that wait for a CPU ----

# Each uses 0.3 s of CPU time, and says how long it has waited for its CPU, and lived, in ns.
cat > share.py << 'END'
import os, time

while time.process_time() < 0.3:
    pass
os.write(1, b"%d %s\n" % (os.getpid(), open("/proc/self/schedstat", "rb").read().split()[1]))
END

schedule_cases() {
    repeat record waits -- taskset -c 0 sh -c 'for i in 1 2 3; do /usr/bin/python3 share.py & done; wait'
    if ! grep -q '"SCHEDULE"' records.json; then
        skip "waits for a CPU ($meter)" "this meter makes no SCHEDULE records"
        return
    fi
    "$dpm" stats --json waits.trace > stats.json
    while read -r pid waited; do
        check "process $pid waited at least as long for a CPU as it has read in /proc/self/schedstat ($meter)" \
            jq -e ".processes[] | select(.pid == $pid) | .waited_for_cpu_ns >= $waited and
            .waited_for_cpu_ns + .cpu_ns <= .threads_watched_ns * 1.01 and .switches.involuntary > 0" stats.json
    done < out
    check "dpm report finds it ($meter)" sh -c "'$dpm' report --json waits.trace |
        jq -e '.findings | any(.topic == \"CPU\" and (.text | test(\"^python3.* waited .* for a CPU: it was runnable\")))'"
}

if command -v taskset > /dev/null; then
    for meter in $meters; do
        schedule_cases
    done
else
    skip "waits for a CPU" "taskset is not installed"
fi
finish
