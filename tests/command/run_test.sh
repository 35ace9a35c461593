#!/bin/sh
# SPDX-License-Identifier: MIT
# run_test.sh BUILD_FOLDER: the user's view of `dpm run`: exit status, output, signals, options; with the default meter.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
load=$1/tests/programs/load
cd "$scratch" || exit 1

# status COMMAND...: its exit status, without its output.
status() {
    "$@" > out 2> err
    echo $?
}

# Where it does not matter what is recorded, few hooks are loaded, which takes less time.
few="--flags exec,termination --kinds pipe"
# shellcheck disable=SC2086 # two options
run_few() {
    "$dpm" run $few "$@"
}

# ---- exit status, output, names ----

# in a trace whose name would command the terminal
control=$(printf 'a\033[31m\nb')
check_equal "exit status is the command's" 7 \
    "$(status run_few -o "$control" -- sh -c 'echo hello; echo problem >&2
        i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7')"
check_equal "standard output is the program's alone" hello "$(cat out)"
check "the report is on standard error, with the program's" grep -qx problem err
check_equal "a trace whose name would command the terminal: each line of the report is one of dpm's, or of figures" 1 \
    "$(grep -c '^dpm: [0-9,]* records, 0 lost, in a?\[31m?b$' err)"
check_equal "... and nothing in it commands" 0 "$(grep -c "$(printf '\033')" err)"
# The CPU time that dpm's child uses before it becomes the command is not counted.
check "all that a program has used is its path's length" test "$("$dpm" stats --json "$control" 2> dump.err |
    jq --argjson longest "$("$dpm" parallelism --json "$control" | jq '.rows[0].T_ns')" \
        '.processes[0].cpu_ns - $longest | fabs | round')" -lt 100000
check_equal "an existing trace is not overwritten" 1 "$(status run_few -o "$control" -- true)"
if [ "$(id -u)" = 0 ]; then
    set -- --user nobody
else
    set --
    skip "--user runs the command as that user" "it takes root"
fi
check_equal "a command killed by a signal gives 128 + signal" 143 \
    "$(status run_few "$@" --report report.txt -- sh -c 'id -un; echo problem >&2; kill -TERM $$')"
[ $# = 0 ] || check_equal "--user runs the command as that user" nobody "$(cat out)"
check_equal "with --report nothing of ours is on standard error" problem "$(cat err)"
check "... and the report is in the file" grep -q 'dpm-sh-[0-9]*\.trace' report.txt
check "without -o the trace is ./dpm-NAME-PID.trace" sh -c 'ls -d dpm-sh-[0-9]*.trace'
check_equal "... that others cannot read" 700 "$(stat -c %a dpm-sh-*.trace)"
check_equal "a command that does not exist gives 127" 127 \
    "$(status run_few -o c.trace -- ./no-such-command)"
check "... with one line that says so" grep -qx 'dpm: ./no-such-command: cannot run it: .*' err
check_not "... and leaves no trace behind" test -e c.trace
printf '#!/no/such/interpreter\n' > script
chmod +x script
check_equal "a script whose interpreter is missing, too" 127 "$(status run_few -o i.trace -- ./script)"
check "... with a line that says so" grep -qx 'dpm: ./script: cannot run it: the interpreter in its first line, or its loader, is missing' err
touch plain
check_equal "a file that is no program gives 126" 126 "$(status run_few -o d.trace -- ./plain)"
check_equal "wrong usage gives 2" 2 "$(status "$dpm" run --flags nonsense -- true)"
check "... and names the flags there are" grep -q "'nonsense' is no meter flag.*receivecall" err
check_equal "no command gives 2" 2 "$(status "$dpm" run)"
check_equal "a user that does not exist is refused" 1 \
    "$(status run_few --user no-such-user -o u.trace -- true)"

# ---- CPU times ----

check_equal "CPU time is precise or coarse" 2 "$(status "$dpm" run --cpu-time nonsense -- true)"
if only_kernel "coarse CPU times" "it knows precise ones only"; then
    "$dpm" run --kinds unix --flags send -o coarse.trace --cpu-time coarse -- "$load" 20000 100 > out 2> err
    "$dpm" dump --json --type send coarse.trace > coarse.json
fi
"$dpm" run --kinds unix --flags send -o precise.trace -- "$load" 20000 100 > out 2> err
"$dpm" dump --json --type send precise.trace > precise.json
# How many different CPU times the sends of a busy program have.
distinct_times() {
    jq .cpu_ns "$1" | uniq | wc -l
}
[ "$meter" = ptrace ] || check "coarse CPU times stand still between the scheduler's looks" \
    test "$(distinct_times coarse.json)" -lt 10000 # on a busy machine it looks more often
check "precise CPU times do not stand still" test "$(distinct_times precise.json)" -gt 19000

# ---- descendants, signals ----

# the child goes on until the command has ended, and a little longer
run_few -o h.trace --wait -- sh -c 'sh -c "while kill -0 $$; do sleep 0.05; done; : > outlived" 2> gone & exit 5' 2> err
check_equal "--wait keeps the command's exit status" 5 $?
check "--wait stays for them" test -e outlived
check "... and records their end" sh -c \
    "'$dpm' dump --json h.trace | jq -e -s '[.[] | select(.event == \"TERMINATION\")] | length >= 2'"

# A signal from outside goes to the program first; the second one ends the recording. (TERM here: a shell starts
# background commands with INT ignored.)
# shellcheck disable=SC2086 # two options
timeout 60 "$dpm" run $few -o i.trace -- sh -c \
    'sleep 20 & trap "echo got it; exit 4" TERM; until grep -qx sleep /proc/$!/comm; do sleep 0.05; done
    : > trapped; for i in $(seq 300); do sleep 0.1; done' > out 2> err &
pid=$!
wait_for 30 test -e trapped
pkill -TERM -P $pid
wait $pid
check_equal "the first signal is the program's" "4 got it" "$? $(cat out)"
[ "$meter" = ptrace ] || check "descendants still running are named" \
    grep -q '^dpm: 1 metered process is still running, .* sleep\[[0-9]*\] (--wait records until it ends)$' err

# Hooks, too: only those needed by a flag are loaded, and none remains.
timeout 60 "$dpm" run --flags send,exec,termination -o j.trace -- sh -c 'trap "" TERM; echo $$; exec sleep 60' > alive 2> err &
pid=$!
wait_for 30 test -s alive
if [ "$meter" = kernel ]; then
    programs_of "$(pgrep -P $pid)" > held
    bpftool prog show | sed -n 's/^\([0-9]*\): .* name \([a-z_]*\).*/\1 \2/p' > all
fi
# taken: whether dpm has taken its signal: two that wait are one
taken() {
    ! grep -Eq '^(Shd|Sig)Pnd:.*[1-9a-f]' "/proc/$(pgrep -P $pid)/status"
}
wait_for 30 sh -c "grep -q '^sleep' /proc/$(cat alive)/comm"
pkill -TERM -P $pid
wait_for 30 taken
sleep 0.3
pkill -TERM -P $pid
wait $pid
check_equal "the second ends the recording" 143 $?
if [ "$meter" = kernel ]; then
    check "... and the program lives on" kill -0 "$(cat alive)"
    check "... of which --wait would not have recorded more" grep -q 'is still running, no longer metered: [^(]*$' err
    kill -KILL "$(cat alive)"
    # named PATTERN: how many of its programs have such a name.
    named() {
        awk -v pattern="$1" 'FNR == NR { held[$1]; next } $1 in held && $2 ~ pattern' held all | wc -l
    }
    check_equal "a hook that a flag needs is loaded" 1 "$(named '^sock_send')"
    check_equal "a hook that no flag needs is not" 0 "$(named '^(sock_recv|sched_switch)')"
    check "after the run nothing stays in the kernel" wait_for 30 are_freed held
else
    check "... and the program with it" wait_for 30 sh -c "! kill -0 $(cat alive)"
fi
check "... and the trace is whole" sh -c "'$dpm' stats --json j.trace | jq -e .trace.complete"

"$dpm" run --kinds unix -o k.trace --store all --max-size 300K -- "$load" 20000 100 > out 2> err
check_equal "at the largest size the command runs on" "0 sends 20000" "$? $(grep sends out)"
check "... and the recording says that it stopped, and what to do" \
    grep -q '^dpm: recording stopped: .*: the trace has reached its largest size, 300 KiB, and ends here; allow more (--store all --max-size N), ' err
check "... and why program counters have no names" \
    grep -q 'call sites have no name: names are written last, and the trace had reached its largest size$' err
check "... having kept to its size" test "$(cat k.trace/* | wc -c)" -le 307200
check "... and still reports the overhead" grep -q '^DPM itself: .* of CPU time' err
check "... and the trace says why it ended" sh -c \
    "'$dpm' dump --json k.trace | jq -e -s '.[-1] | .event == \"END\" and .reason == 2'"
# shellcheck disable=SC2016 # the command's own
"$dpm" run --wait --kinds unix -o kk.trace --store all --max-size 300K -- sh -c \
    'sh -c "while kill -0 $$; do sleep 0.05; done; exec \"\$1\" 20000 100" sh "$1" > gone 2>&1 &' sh "$load" > out 2> err
check "after the command's end it does not say that it runs on" grep -q '^dpm: recording stopped: .*; the command has ended$' err

"$dpm" run --user nobody-of-this-name -- true > out 2> err
check_equal "an unknown user" "1 dpm: no user 'nobody-of-this-name' on this machine" "$? $(cat err)"
for size in 65535 63K much; do
    "$dpm" run -o small.trace --max-size $size -- true > out 2> err
    check_equal "a trace of $size is wrong usage" "2 dpm: run: --max-size '$size': give a size of at least 64K, e.g. 500M or 4G (try: dpm run --help)" \
        "$? $(cat err)"
done

# ---- what a session wants: the meter does not matter, and that one needs not be loaded ----

# (two at a time: P is a finding of its own)
"$dpm" run --meter ptrace -o m.trace --kinds pipe --analyses parallelism,why --html m.html -- \
    sh -c 'count() { i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; }; count & count; wait' > out 2> err
check_equal "--analyses prints the tables of these analyses" 'Parallelism' \
    "$(grep -x -e Parallelism -e 'Critical path' -e Requests err)"
check_equal "... and their findings" 'Parallelism Time' \
    "$(sed -n '/^What was found/,/^$/s/^\(Time\|Parallelism\|Path\|Requests\) .*/\1/p' err | sort | xargs)"
check "--html writes a page of the same" sh -c 'grep -q "<html" m.html && grep -q Parallelism m.html'
"$dpm" run --meter ptrace -o n.trace --kinds pipe --html n.html -- sh -c 'seq 1 1000 | cat' > out 2> err
"$dpm" report --html report.html n.trace
check "without --analyses it is the page of dpm report" cmp n.html report.html
"$dpm" run --analyses who -- true > out 2> err
check_equal "an unknown analysis is wrong usage" "2 dpm: run: --analyses 'who': choose from stats, why, path, parallelism, \
causality, all; -NAME leaves one out (try: dpm run --help)" "$? $(cat err)"
# the messages go to a pipe whose reader has ended
mkfifo pipe
: < pipe &
exec 5> pipe
wait $!
"$dpm" run -o p.trace --html p.html -- true 2>&5
check_equal "if nobody reads the messages, the page is written nevertheless, whole" "0 1" "$? $(grep -c '</html>' p.html)"
exec 5>&-
rm pipe
"$dpm" run --html /nowhere/page.html -- touch ran > out 2> err
check_equal "a page that cannot be written is reported before the command runs" \
    "1 dpm: cannot write the report to /nowhere/page.html: No such file or directory" "$? $(cat err)"
check_not "... which does not run" test -e ran

finish
