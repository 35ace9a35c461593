#!/bin/sh
# SPDX-License-Identifier: MIT
# renamed_test.sh BUILD_FOLDER: names of threads and processes that change while they run, and command lines.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs jq
named=$1/tests/programs/named
cd "$scratch" || exit 1
ln -s "$named" named

# record METER COMMAND...
record() {
    which=$1
    shift
    rm -rf n.trace
    "$dpm" run --meter "$which" -o n.trace --report report -- "$@" > out 2> err || cat err
    "$dpm" dump --json n.trace > records 2> dump.err
}

# sends NAME: how many SENDs a thread of that name made, as dump names them.
sends() {
    jq -s --arg name "$1" '[.[] | select(.event == "SEND" and .name == $name)] | length' records
}

# command_of PID: the last command line of the process.
command_of() {
    jq -r -s --argjson pid "$1" '([.[] | select(.event == "STREAM" and .pid == $pid)][0].process) as $process |
        [.[] | select(.event == "NAME" and .kind == 3 and .number == $process)] | last.called' records
}

# pid_of NAME: of the first process with this name.
pid_of() {
    jq -s --arg name "$1" '[.[] | select(.event == "STREAM" and .name == $name and .pid == .tid)][0].pid' records
}

for which in kernel ptrace; do
    [ $which = ptrace ] || only_kernel "the kernel meter" "it has tests of its own" || continue
    record $which sh -c 'exec ./named - 0 one "two words" "" last'
    check_equal "$which: a thread that renames itself" 3 "$(sends worker-1)"
    check_equal "$which: a process that renames itself, and its child" 9 "$(sends boss)"
    check_equal "$which: dump --process knows the names" "3 9" \
        "$("$dpm" dump --process worker-1 --type SEND n.trace | wc -l) $("$dpm" dump --process boss --type SEND n.trace | wc -l)"
    if [ $which = kernel ]; then
        check_equal "kernel: a thread that another one renames" 5 "$(sends worker-2)"
    else
        check_equal "ptrace: a thread that another one renames has the name at its end" worker-2 \
            "$(jq -s -r '[.[] | select(.event == "STREAM")] | group_by(.stream) | .[2] | last.name' records)"
    fi
    check_equal "$which: one STREAM for each program and each name" "sh named boss" \
        "$(jq -s -r '[.[] | select(.event == "STREAM" and .stream == 1)] | map(.name) | join(" ")' records)"
    check_equal "$which: the command line, with blanks between arguments" './named - 0 one two words  last' \
        "$(command_of "$(pid_of boss)")"
    check_equal "$which: STREAM has it in JSON" \
        'sh -c exec ./named - 0 one "two words" "" last,./named - 0 one two words  last' \
        "$(jq -s -r '[.[] | select(.event == "STREAM" and .stream == 1) | .command] | unique | reverse | join(",")' records)"
    check_equal "$which: a child that executes nothing has its creator's" './named - 0 one two words  last' \
        "$("$dpm" stats --json n.trace | jq -r '.processes[1].command')"
    check_equal "$which: ... and no NAME of its own" 2 \
        "$(jq -s '[.[] | select(.event == "NAME" and .kind == 3)] | length' records)"

    long=$(printf '%0300d' 7)
    record $which ./named - 0 "$long"
    check_equal "$which: a long one is cut" "$(printf './named - 0 %s' "$long" | cut -c 1-207)" \
        "$(command_of "$(pid_of boss)")"

    record $which sh -c './named - 0 a & ./named - 0 b & wait'
    check_equal "$which: dpm stats shows what distinguishes processes with one name" "./named - 0 a,./named - 0 b" \
        "$("$dpm" stats n.trace 2> err | sed -n '/^Command lines/,/^$/s/.*\(\.\/named - 0 .\).*/\1/p' | sort -u | paste -sd ,)"

    record $which ./named - 3 some arguments to be overwritten
    check_equal "$which: a title that the program writes" "named: at work" "$(command_of "$(pid_of boss)")"
    check_equal "$which: ... comes after the command line" "./named - 3 some arguments to be overwritten" \
        "$(jq -s -r '[.[] | select(.event == "NAME" and .kind == 3)][0].called' records)"
done

if only_kernel "acquired processes" "it cannot acquire"; then
    ./named go 30 some arguments to be overwritten &
    victim=$!
    wait_for 30 grep -qx boss /proc/$victim/comm
    rm -rf n.trace
    take_over -o n.trace --report report $victim
    touch go
    wait_for 30 grep -q 'at work' /proc/$victim/cmdline
    let_go
    kill $victim
    "$dpm" dump --json n.trace > records 2> dump.err
    check_equal "an acquired process has a command line, and a title by the end of the recording" \
        "./named go 30 some arguments to be overwritten,named: at work" \
        "$(jq -s -r '[.[] | select(.event == "NAME" and .kind == 3) | .called] | join(",")' records)"
    check "... before its STREAM" test "$(jq -s -r 'map(.event) | index("STREAM") > index("NAME")' records)" = true
fi

finish
