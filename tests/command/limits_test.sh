#!/bin/sh
# SPDX-License-Identifier: MIT
# limits_test.sh BUILD_FOLDER: the state of the machine and the limits of cgroups in a recording, compared with what
# the recorded programs and this test read in /proc and in the cgroup's own files. (What is found in them: machine.story.)
# The recorder reads them, with each meter by the same code.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_programs jq /usr/bin/python3
need_any_meter
cd "$scratch" || exit 1

# record NAME ARGUMENT...: `dpm run` with the meter; its exit status is in `recorded`. No messages matter: with one kind of
# paths few hooks are loaded.
record() {
    name=$1
    shift
    rm -rf "$name.trace"
    timeout 120 "$dpm" run --meter "$meter" --kinds pipe --report none -o "$name.trace" "$@" > out 2> err
    recorded=$?
    "$dpm" dump --json "$name.trace" > records.json 2> dump.err
}

# holds NAME CONDITION: of the records as a list. `first` and `last`: their first and last SUMMARY.
holds() {
    check "$1" jq -e -s "[.[] | select(.event == \"SUMMARY\")] as \$all |
        \$all[0] as \$first | \$all[-1] as \$last | $2" records.json
}

# a file of /proc, as numbers: NAME of a line --> its number
numbers() {
    jq -R -n '[inputs | capture("^(?<key>[A-Za-z_()]+):? +(?<value>[0-9]+)") | {(.key): (.value | tonumber)}] | add' "$1"
}

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

# Computes until its cgroup has used up the limit three times, by the cgroup's own file, however many CPUs others leave; then says
# what the file says.
cat > spin.py << 'END'
import sys, time

end = time.monotonic() + 100
text = ""
while time.monotonic() < end and int((text + " nr_throttled 0").split("nr_throttled ")[1].split()[0]) < 3:
    some = time.process_time() + 0.02
    while time.process_time() < some:
        pass
    text = open(sys.argv[1]).read()
sys.stdout.write(text)
END

make_group
[ -z "$group" ] || trap 'rmdir "$group"; rm -rf "$scratch"' EXIT
# shellcheck disable=SC2016 # for the inner shell
record machine -- sh -c 'cat /proc/stat > stat.before; cat /proc/vmstat > vmstat.before
    sleep 1.2
    cat /proc/stat > stat.after; cat /proc/vmstat > vmstat.after
    [ -n "$1" ] || exit 0
    echo 0 > "$1/cgroup.procs"; cat "$1/cpu.stat" > before
    exec /usr/bin/python3 spin.py "$1/cpu.stat"' sh "$group"
cp out during
[ -z "$group" ] || cp "$group/cpu.stat" after
check_equal "a program is recorded" 0 $recorded

# ---- the machine ----

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
    skip "waits for CPUs are those of /proc/pressure" "this kernel has no pressure stall information"
fi
holds "nothing is older than what stands before it" \
    '[.[] | .time_ns] as $times | ($times | sort) == $times'
"$dpm" stats --json machine.trace > stats.json
check "dpm stats has the differences" jq -e --slurpfile records records.json '
    [$records[] | select(.event == "SUMMARY")] as $all | .loads[0] |
    .elapsed_ns == $all[-1].time_ns - $all[0].time_ns and
    .major_faults == $all[-1].major_faults - $all[0].major_faults' stats.json
if command -v babeltrace2 > /dev/null; then
    check_equal "another reader finds them" "$(grep -c '"event": *"SUMMARY"' records.json)" \
        "$(babeltrace2 machine.trace | grep -c ' SUMMARY: ')"
else
    skip "another reader finds them" "babeltrace2 is not installed"
fi

# ---- a cgroup that uses up its CPU limit ----

if [ -z "$group" ]; then
    skip "a cgroup that uses up its limit" "no cgroup with a CPU limit can be made here"
else
    for when in before during after; do
        numbers $when > $when.json
    done
    jq -s '[.[] | select(.event == "CGROUP" and .quota == 20000000)]' records.json > limited.json
    check "the limit is recorded" jq -e 'length >= 2 and all(.period == 100000000)' limited.json
    check "periods in which it was used up are those of the cgroup's file, read by the program and by the test" \
        jq -e --argjson before "$(jq .nr_throttled before.json)" --argjson during "$(jq .nr_throttled during.json)" \
        --argjson after "$(jq .nr_throttled after.json)" \
        '.[0].throttled_periods >= $before and .[-1].throttled_periods >= $during and
        .[-1].throttled_periods <= $after and $during > $before' limited.json
    # v1 has ns, and v2 us
    check "... and so is the time" \
        jq -e --argjson during "$(jq '.throttled_time // (.throttled_usec * 1000)' during.json)" \
        --argjson after "$(jq '.throttled_time // (.throttled_usec * 1000)' after.json)" \
        '.[-1].throttled >= $during and .[-1].throttled <= $after' limited.json
    check "dpm stats names it, with the limit and how often it was used up" \
        jq -e --arg name "/dpm-limits-$$" --slurpfile records limited.json '
        $records[0] as $of | [.cgroups[] | select(.name == $name)] | length == 1 and (.[0] |
        .cpu_limit == 0.2 and .throttled_periods == $of[-1].throttled_periods - $of[0].throttled_periods and
        .throttled_ns == $of[-1].throttled - $of[0].throttled)' stats.json
fi

# ---- without it, and the shortest; with the meter that begins faster ----

if "$dpm" run --meter ptrace --report none -o probe.trace -- true > probe.out 2>&1; then
    meter=ptrace
fi
record none --flags all,-summary -- true
holds "without the flag there is none" 'length > 0 and all(.event != "SUMMARY" and .event != "CGROUP")'
record short -- true
holds "the shortest recording has two" '$all | length == 2 or $last.time_ns - $first.time_ns >= 1000000000'
finish
