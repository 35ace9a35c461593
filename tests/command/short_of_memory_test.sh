#!/bin/sh
# SPDX-License-Identifier: MIT
# short_of_memory_test.sh BUILD_FOLDER: when memory runs out a command fails with one line, or succeeds with its usual
# output; it never succeeds with less. Each allocation of a command is made to fail; if there are many, some of them, and
# others in each run. (DPM_SEED=N repeats a run; ./dev test --all tries more.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
library=$build/tests/programs/short_of_memory.so

# short ALLOCATIONS COMMAND...: runs it with each of these allocations failing; prints the exit statuses
short() {
    rm -f out.* err.*
    echo "$1" > numbers
    shift
    FAIL_EACH=$(cat numbers) LD_PRELOAD=$library "$@" > statuses
}

# Prints what is wrong with the runs in `statuses`: they succeeded with less than the whole output, or failed without
# one line of explanation. Then their number. (Without memory libseccomp only reports that there is no such system call;
# its number, which is there in any case, then stands for its name.)
what_is_wrong() {
    sed -i 's/"system_call_name":"[^"]*"/"system_call_name":"-"/g' whole out.*
    sha1sum whole out.* > sums
    awk 'FILENAME == "sums" { sum[$2] = $1; next }
        function says_why(name,  line, lines, wrong) {
            while ((getline line < name) > 0) {
                wrong = wrong || line !~ /^dpm: / || line ~ /have changed/
                lines += line !~ / lost$/
                said[name] = said[name] " " line
            }
            close(name)
            return lines == 1 && !wrong
        }
        { runs++ }
        $2 == 0 ? sum["out." $1] != sum["whole"] : $2 != 1 || !says_why("err." $1) {
            print "allocation " $1 ": status " $2 said["err." $1]
        }
        END { print runs + 0 " runs" }' sums statuses
}

seed=${DPM_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
echo "# DPM_SEED=$seed"
last=25 others=15
! long_ones || last=150 others=100

# never_less NAME COMMAND...: the property above: for the last allocations, and for some of the others, at equal distances
# from a random one.
never_less() {
    tap_name=$1
    shift
    COUNT_TO=count LD_PRELOAD=$library "$@" > whole 2> err
    short "$(awk -v seed="$seed" -v last=$last -v others=$others '{
        step = $1 <= last + others ? 1 : ($1 - last) / others
        srand(seed + $1)
        for (at = $1; at > $1 - last && at > 0; at--) print at
        for (at -= step > 1 ? rand() * step : 0; at > 0.5; at -= step) print int(at + 0.5) }' count)" "$@"
    check_equal "$tap_name: whatever of its $(cat count) allocations fails" "$(wc -w < numbers) runs" "$(what_is_wrong)"
}

never_less "dpm stats --json" "$dpm" stats --json --histogram alpha

# In the C locale, because without memory setlocale and iconv only report that there is no such locale; names are then
# printed in ASCII.
LC_ALL=C
never_less "dpm stats, tables" "$dpm" stats alpha
if long_ones; then
    never_less "dpm stats, tables of pairs" "$dpm" stats --by pair alpha
    never_less "dpm path, tables" "$dpm" path alpha
fi
LC_ALL=C.UTF-8

printf 'machine big 2\nmachine small\n%s\n* small\n' "$(seq -f '%.0f big' 100)" > assign
printf 'local 1us\nremote 1ms\n%s\nbig small 3s\n' "$(seq -f 'm%.0f small 1ms' 100)" > delays
never_less "dpm parallelism with files" "$dpm" parallelism --json --assign assign --delays delays alpha
if long_ones; then
    never_less "dpm parallelism --json" "$dpm" parallelism --json --search 2 alpha
    never_less "dpm path --json" "$dpm" path --json alpha
    never_less "dpm dump, of program counters with names" "$dpm" dump gamma
else
    skip "tables of pairs and paths, a search, the path in JSON, and names of procedures" "takes long: only with ./dev test --all"
fi
never_less "dpm causality --json" "$dpm" causality --json --slowest 2 alpha
never_less "dpm report --json" "$dpm" report --json alpha
never_less "dpm dump --json" "$dpm" dump --json --matched alpha

# The names of the traces, as dpm report repeats them in the commands that show more; they are made at its beginning.
"$dpm" report alpha 2> err | grep -o 'dpm [a-z].*)$' > whole
short "$(seq 100)" "$dpm" report alpha
grep -a -o -H 'dpm [a-z].*)$' out.* > named
check_equal "dpm report names the traces, whatever of its first allocations fails" "$(seq 100)" "$(awk '
    FILENAME == "whole" { whole = whole $0 "\n"; next }
    FILENAME == "named" { at = index($0, ":"); said[substr($0, 1, at - 1)] = said[substr($0, 1, at - 1)] substr($0, at + 1) "\n"; next }
    $2 != 0 || said["out." $1] == whole { print $1 }' whole named statuses)"
check "... and some succeed" grep -q ' 0$' statuses
finish
