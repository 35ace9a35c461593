#!/bin/sh
# SPDX-License-Identifier: MIT
# program_callers_test.sh BUILD_FOLDER: callers, as the unprivileged meter finds them by ptrace (pc_tracer.c). Each
# answer is compared with one without cache, with elfutils' unwinder, with the programs' own knowledge, and, where the
# kernel meter works, with its records of the same run.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
command -v cc > /dev/null || skip_all "there is no C compiler"
tests=$(cd "$(dirname "$0")" && pwd)
build=$1
dpm=$build/dpm
tracer=$build/tests/programs/pc-tracer
cd "$scratch" || exit 1
"$tracer" true.log true 2> err || skip_all "programs cannot be traced here: $(cat err)"

. "$tests/callers.sh"
compile -o changing "$tests/../programs/changing_text.c"
compile -DFRAME=40 -fPIC -shared -o libsmall.so "$tests/../programs/changing_library.c"
compile -DFRAME=500 -fPIC -shared -o liblarge.so "$tests/../programs/changing_library.c"

# sum_of NAME FIELD: a number of the last line of a log.
sum_of() {
    sed -n "\$s/.* $2 \([0-9]*\).*/\1/p" "$1.log"
}

# messages_of NAME: "EVENT BYTES FUNCTION" of each call that may send or receive.
messages_of() {
    awk '$4 == 1 || $4 == 20 || $4 == 44 || $4 == 46 || $4 == 307 { print "SEND", $5, $8 }
         $4 == 0 || $4 == 19 || $4 == 45 || $4 == 47 || $4 == 299 { print "RECEIVE", $5, $8 }' "$1.log"
}

# wrong_names NAME: expected callers that are missing. Unbuffered fprintf has more frames in the C library than the
# meter always follows: the result may be unknown, but not wrong.
wrong_names() {
    messages_of "$1" > "$1.found"
    grep -v fprintf "$1.expected" | grep -vxFf "$1.found"
    grep fprintf "$1.expected" | while read -r event bytes function; do
        grep -xE "$event $bytes (library|$function)" "$1.found" > /dev/null || echo "$event $bytes $function"
    done
}

programs='pie changing'
! long_ones || programs='pie fixed no-plt frames static changing'
for program in $programs; do
    timeout 60 "$tracer" --unwind 20 $program.log ./$program ./libsmall.so ./liblarge.so ./libsmall.so \
        ./liblarge.so < /dev/null > $program.expected 2> err
    check_equal "$program: runs to its end" 0 $?
    check "$program: has callers" test "$(wc -l < $program.expected)" -ge 40
    check_equal "$program: every caller has its name" "" "$(wrong_names $program)"
    check_equal "$program: what is remembered is what is found anew" 0 "$(sum_of $program unequal)"
    check_equal "$program: nothing else than what the unwinder finds" 0 "$(sum_of $program wrong)"
    case $program in static | changing) continue ;; esac # the C library is part of the program; it does not sleep
    check "$program: the caller of nanosleep is found" awk '
        $4 == 230 { $8 == "caller_of_nanosleep" && !$7 ? found++ : missed++ }
        END { exit found != 3 || missed > 0 }' $program.log
done

# ---- compared with the kernel meter ----

# compare_kernel NAME: each record that the kernel meter made in a call of a stream has the PC that was found for that
# call; or the kernel meter lost its way, since it reads only pages in memory. ptrace looks when a call ends: by then a
# child of vfork, or of clone as posix_spawn uses it (56, 58, 435), may have overwritten the stack, and after execve
# (59) there is another program.
compare_kernel() {
    records_in_calls "$1" | awk '
        $2 == $6 && $3 == $7 { equal++; next }
        $3 && !$7 { only_we++; next }
        ($5 == 56 || $5 == 58 || $5 == 59 || $5 == 435) && $7 { next }
        { print "stream", $1, $4, "has", $2, $3, "and not", $6, $7 }
        END { print equal + 0, only_we + 0 > "figures" }' > differences
    read -r equal only_we < figures
    echo "# $1: $equal records have the same PC, $only_we have one only by ptrace"
    check_equal "$1: the PC is the kernel meter's" "" "$(head -n 5 differences)"
    check "$1: most records have the same" test $((equal + only_we)) -ge "$2" -a $((only_we * 50)) -le "$equal"
}

if "$dpm" run --meter kernel -o probe.trace -- true > err 2>&1; then
    for program in pie static changing; do
        timeout 60 "$dpm" run --meter kernel -o $program.trace -- "$tracer" $program.log ./$program ./libsmall.so \
            ./liblarge.so < /dev/null > out 2> err
        compare_kernel $program 70
    done
    mkdir log
    timeout 120 "$dpm" run --meter kernel -o truth.trace --ring 64M -- "$tracer" --unwind 3 truth.log \
        "$build/tests/truth/truth-program" --seed 7 --log log > out 2> err
    check_equal "truth: runs to its end" 0 "$?$(grep '^truth-program: .* failed' err)"
    compare_kernel truth 10000
    compare_unwound truth 1000
else
    skip "the PC is the kernel meter's" "the kernel meter does not run here: $(head -n 1 err)"
    mkdir log
    timeout 120 "$tracer" truth.log "$build/tests/truth/truth-program" --seed 7 --log log > out 2> err
    check_equal "truth: runs to its end" 0 "$?$(grep '^truth-program: .* failed' err)"
fi
check_equal "truth: what is remembered is what is found anew" 0 "$(sum_of truth unequal)"
# send and recv: nearly all have come the same way before
awk '($4 == 44 || $4 == 45) && $7 == 0 { calls++; reads += $9 }
    END { print calls + 0, int(reads * 100 / calls) }' truth.log > figures
read -r calls reads < figures
echo "# $reads reads for 100 of $calls calls"
check "a call that came the same way before costs one read" test "$calls" -gt 1000 -a "$reads" -le 110
finish
