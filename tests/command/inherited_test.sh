#!/bin/sh
# SPDX-License-Identifier: MIT
# inherited_test.sh BUILD_FOLDER: dpm works with any inherited limits, ignored signals and closed files, and passes them
# on to the command unchanged.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/sample.sh"
find_meter

# meters NAME: whether a meter works here; otherwise skips a test case.
meters() {
    [ -n "$meter" ] || skip "$1" "no meter runs here: $reason"
    [ -n "$meter" ]
}

# ---- the file size limit ----

# with_small_files COMMAND...: with a file size limit of 1 KiB (the unit of ulimit -f is 512 bytes)
with_small_files() {
    (ulimit -f 2 && exec "$@")
}

for drawing in "graph -o half.svg" "causality --diagram half.svg"; do
    # shellcheck disable=SC2086 # a command and its options
    fails "a file that may not be so large: dpm $drawing" 1 'half.svg: cannot be written: File too large' \
        with_small_files "$dpm" $drawing alpha
    check_not "... is removed" test -e half.svg
done

# records_into_small_files METER: a command that exceeds the limit for the trace and continues.
records_into_small_files() {
    rm -rf small.trace finished
    (
        ulimit -f 100
        # shellcheck disable=SC2016 # for that shell
        exec "$dpm" run --meter "$1" --kinds pipe -o small.trace --report report -- sh -c \
            'for i in $(seq 200); do echo $i | cat; done; touch finished; exit 7'
    ) > out 2> err
}

if meters "a trace that may not be so large"; then
    for kind in $meter ptrace; do
        records_into_small_files "$kind"
        check_equal "$kind: where the trace may not be so large the command runs on" 7 $?
        check "... to its end" test -e finished
        check "... and the reason is reported" grep -q 'File too large; the trace ends here' report
        check "... and what was written can be read" "$dpm" stats small.trace
    done
    # shellcheck disable=SC2016 # for that shell
    (ulimit -f 100 && exec prlimit --nofile=77: "$dpm" run --kinds pipe --flags exec,termination -o ended.trace -- sh -c 'ulimit -n > limit
        exec head -c 100000 /dev/zero > large') 2> err
    check_equal "the command itself is ended by SIGXFSZ, as without dpm" 153 $?
    check_equal "... and gets the limit of open files that dpm got" 77 "$(cat limit)"
fi

# ---- open files ----

runs "more traces than the soft limit of open files lets be read" \
    prlimit --nofile=8:100 "$dpm" stats alpha beta gamma crowd
fails "more than the hard limit does" 1 '.*Too many open files; raise ulimit -n' \
    prlimit --nofile=6:6 "$dpm" stats alpha beta
fails "... as the kernel meter does" 1 '.*: Too many open files.*' \
    prlimit --nofile=4:4 "$dpm" run --meter kernel -o few.trace -- true

# ---- signals ----

# ignoring COMMAND...: started with SIGCHLD and SIGHUP ignored
ignoring() {
    timeout 60 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}
# what Python says of SIGCHLD
handler='import signal; print(signal.getsignal(signal.SIGCHLD))'

if meters "started with signals ignored"; then
    for kind in $meter ptrace; do
        # shellcheck disable=SC2016 # for that shell
        ignoring "$dpm" run --meter "$kind" --kinds pipe --flags exec,termination -o "ignored-$kind.trace" -- \
            sh -c 'python3 -c "$0"; kill -HUP $PPID; sleep 0.1; kill -HUP $PPID; exit 3' "$handler" > out 2> err
        check_equal "$kind: where SIGCHLD is ignored the command's status is known; and nohup" 3 $?
        check_equal "... and the command ignores it, too" "$(ignoring sh -c 'python3 -c "$0"' "$handler")" "$(cat out)"
    done
fi

# ---- closed standard files ----

"$dpm" graph -o open.svg beta
"$dpm" graph -o closed.svg beta 0<&- >&- 2>&-
check_equal "with all standard files closed: exit status" 0 $?
check "... and what is written is the same" cmp open.svg closed.svg
if meters "a command with closed files"; then
    for kind in $meter ptrace; do
        # shellcheck disable=SC2016 # for that shell
        "$dpm" run --meter "$kind" --kinds pipe -o "closed-$kind.trace" -- sh -c \
            'exec 3> files-'"$kind"'; for i in 0 1 2; do [ -e /proc/self/fd/$i ] && echo $i >&3; done
             for i in 0 1 2; do readlink /proc/$PPID/fd/$i >&3; done' 0<&- >&- 2>&-
        check_equal "$kind: a command gets them closed, and no file of dpm is in their place" \
            "0 /dev/null /dev/null /dev/null" "$? $(xargs < "files-$kind")"
        check "... and its trace holds records only" "$dpm" dump "closed-$kind.trace"
    done
fi
finish
