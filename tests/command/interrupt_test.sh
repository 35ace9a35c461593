#!/bin/sh
# SPDX-License-Identifier: MIT
# interrupt_test.sh BUILD_FOLDER: Ctrl-C while traces are read or a result is written: one line says so, the terminal is as
# before, and no file is left half written.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
. "$here/meter.sh"
. "$here/sample.sh"

# ---- while traces are read ----

# strace makes each read of a trace take so long that progress is shown, and then presses Ctrl-C.
strace -o /dev/null true 2> why_not || skip_all "strace does not work here: $(cat why_not)"
"$1/bench/generate" --records 20000 one two > said
for command in "report --threads 1" "report --threads 2" "report --html page.html" why path; do
    # shellcheck disable=SC2086 # several words
    python3 "$here/interrupted.py" strace -f -o calls -e inject=pread64:delay_enter=150000 \
        -e inject=fallocate:signal=INT:when=4 "$dpm" $command one two |
        grep -v '^strace: ' > ended # it says that a signal came in the middle of a delay
    check_equal "$command: one line says what happened, and the status is that of Ctrl-C" "with progress
dpm: interrupted while reading: there is no result
130" "$(cat ended)"
done
check_equal "no file is left" "" "$(find . -name '*page.html*')"
rm -rf one two

# ---- while a file is written ----

echo before > page.html
strace -f -o calls -e inject=write:signal=INT:when=1 "$dpm" report --html page.html gamma 2> err
check_equal "a file that is being written: the status" 130 $?
check_equal "... and the line" "dpm: interrupted: page.html is not written" "$(cat err)"
check_equal "... the older one is as it was" before "$(cat page.html)"
check_equal "... and none is beside it" page.html "$(find . -name '*page.html*' | sed 's/^..//')"

# A script that ignores SIGINT, as for its jobs in the background, goes on doing so.
(
    trap '' INT
    strace -f -o calls -e inject=write:signal=INT:when=1 "$dpm" report --html ignored.html gamma 2> err
    echo $? > status
)
check_equal "SIGINT that is ignored stays ignored" 0 "$(cat status)"
check "... and the page is whole" grep -q '</html>' ignored.html

# ---- while the report at the end of a recording is made ----

# strace presses Ctrl-C where it is decided how the trace is read; or before, when it would have ended the recording.
find_meter
for when in rt_sigtimedwait sched_getaffinity; do
    if only_kernel "Ctrl-C at the end of a recording ($when)" "strace and the ptrace meter exclude each other"; then
        rm -rf recorded
        strace -f -o calls -e inject=$when:signal=INT:when=1 "$dpm" run -o recorded -- true > said 2> err
        echo $? >> err
        case $when in
        rt_sigtimedwait)
            check_equal "Ctrl-C that came before the report does not end it" "in recorded 0" "$(tail -n 2 err | xargs | grep -o 'in .*')" ;;
        *)
            check_equal "Ctrl-C while the report is made: one line says what there is" "dpm: interrupted: there is no report; what was recorded is stored: dpm report recorded
130" "$(cat err)" ;;
        esac
        check "... the recording is complete" sh -c "'$dpm' stats recorded > stats 2> err && ! [ -s err ]"
    fi
done
finish
