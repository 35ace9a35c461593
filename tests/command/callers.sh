# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # who reads it sets $tests, $dpm and $scratch, and is in $scratch
# callers.sh: shared by the tests of program counters. It builds the program that knows its callers (callers.c) in
# several ways: pie, fixed, no-plt, frames, static.

compile() {
    cc -O2 -fomit-frame-pointer -D_GNU_SOURCE -I"$tests/../programs" "$@" -pthread || exit 1
}
library="-L. -lcallers -Wl,-rpath,$scratch"
compile -fPIC -shared -o libcallers.so "$tests/../programs/callers_library.c"
# shellcheck disable=SC2086 # several words
{
    compile -fPIE -pie -o pie "$tests/../programs/callers.c" $library
    compile -fno-pie -no-pie -o fixed "$tests/../programs/callers.c" $library
    compile -fno-plt -o no-plt "$tests/../programs/callers.c" $library
    compile -O0 -fno-omit-frame-pointer -o frames "$tests/../programs/callers.c" $library
    compile -static -DLIBRARY_IS_PROGRAM=true -o static "$tests/../programs/callers.c" "$tests/../programs/callers_library.c"
}

# records_in_calls NAME: for each record of NAME.trace that a stream made in one of its calls, by pc-tracer's NAME.log:
# the stream, the PC, whether it is in a library, and the event; for the call its number, its PC, whether it is in a
# library, and the unwinder's result.
records_in_calls() {
    "$dpm" dump --json "$1.trace" 2> err | jq -r 'select(.pc != null and .tid != null) |
        "\(.tid) \(.time_ns) \(.pc) \(if .library then 1 else 0 end) \(.event)"' > "$1.records"
    awk '
        FNR == NR && $1 ~ /^[0-9]+$/ {
            call = ++calls[$1]
            entry[$1, call] = $2
            end[$1, call] = $3
            told[$1, call] = $4 " " $6 " " $7 " " $10
        }
        FNR == NR { next }
        $1 in calls {
            while (at[$1] <= calls[$1] && end[$1, at[$1]] < $2)
                at[$1]++
            call = at[$1]
            if (call <= calls[$1] && entry[$1, call] <= $2) # otherwise it was made while stopped between two calls
                print $1, $3, $4, $5, told[$1, call]
        }' "$1.log" "$1.records"
}

# compare_unwound NAME LEAST: NAME.trace is of processes that ran under pc-tracer, with --unwind and NAME.log. Each
# record that a stream made in a call whose stack was unwound has as its PC the first address in the program that
# elfutils' unwinder found there, or says that the PC is unknown. At least 95 of 100, and LEAST, are known; records of
# calls that begin a program count, too, but not STOPPROCESS, which the tracer causes in each call.
compare_unwound() {
    records_in_calls "$1" | awk '
        $8 == "-" { next }
        $8 == 0 { nowhere += !$3 && $4 !~ /^(STOPPROCESS|SIGNAL)$/; next }
        $3 { unknown += $4 !~ /^(STOPPROCESS|SIGNAL)$/; next }
        $2 == $8 { equal += $4 !~ /^(STOPPROCESS|SIGNAL)$/; next }
        { print $4, "in call", $5, "has", $2, "and not", $8 }
        END { print equal + 0, unknown + 0, nowhere + 0 > "figures" }' > differences
    read -r equal unknown nowhere < figures
    echo "# $1: of $equal records the PC is what is unwound, of $unknown it is not known, of $nowhere nothing is unwound"
    check_equal "$1: no PC is another than what elfutils unwinds" "" "$(head -n 5 differences)"
    check "$1: 95 of 100 are the same" test "$equal" -ge "$2" -a $((equal * 100)) -ge $(((equal + unknown + nowhere) * 95))
}
