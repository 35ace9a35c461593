#!/bin/sh
# SPDX-License-Identifier: MIT
# store_test.sh BUILD_FOLDER: a recording without a trace reports what one with a trace reports.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
load=$1/tests/programs/load
mkdir "$scratch/empty" && cd "$scratch/empty" || exit 1

# facts: lines of a report whose figures do not depend on time
facts() {
    awk '/^Matched receives: / || / of them ended\.$/ { print }
         /^Procedures$/ { on = 1 } /^$/ { on = 0 } on { print }
         /^FROM .* MESSAGES / { getline; print $3, $4, $5 }' "$1" | sed 's/\[[0-9]*\]//g'
}

# same METER: the report of the same program, with a trace and without
same() {
    "$dpm" run --meter "$1" --kinds unix -o "../$1.trace" -- "$load" 3000 64 > ../out 2> ../with
    "$dpm" run --meter "$1" --kinds unix --store none -- "$load" 3000 64 > ../truth 2> ../without
    check_equal "$1: the command runs as ever" "$(cat ../out)" "$(cat ../truth)"
    check "... the report has its messages" grep -q '^Matched receives: 3,000 ' ../without
    "$dpm" stats "../$1.trace" > ../with
    check_equal "... and the facts of one from a trace" "$(facts ../with)" "$(facts ../without)"
    check "... the last line says that nothing is stored" grep -Eq '^dpm: [0-9]+ records, 0 lost, not stored$' ../without
    check "... one says what is left out" grep -q '^dpm: left out: where the time went (--analyses all adds it) and the critical path ' ../without
    check_equal "... and there is no file" "" "$(ls)"
}

[ "$meter" = ptrace ] || same kernel
same ptrace
# the names of procedures come at the end of a recording
check "program counters have names" grep -q '^main  *load ' ../without

# ---- options, under the ptrace meter, which is quick to start ----

"$dpm" run --meter ptrace --store none --analyses all --html ../page.html -- sh -c 'seq 1 1000 | cat' > ../out 2> ../err
check_equal "--analyses all leaves the critical path out, and says so" \
    'dpm: the critical path: it needs a trace, to read it twice' "$(grep '^dpm: the critical' ../err)"
check_equal "... and has the others" 'Parallelism' "$(grep -x -e Parallelism -e 'Critical path' ../err)"
check "--html writes the page" grep -q 'Parallelism' ../page.html
check_not "... which names no command for a trace" grep -q '<code>dpm stats' ../page.html
check_not "no report names one" grep -q '(.*: dpm ' ../err
check_not "nothing else is left out" grep -q '^dpm: left out' ../err
"$dpm" run --meter ptrace --store none --html ../default.html -- sh -c 'seq 1 1000 | cat' > ../out 2> ../err
check "--html without --analyses writes all of them, too" grep -q 'Parallelism' ../default.html

# it ends when two reports have come; it sends nothing meanwhile
cat > ../reported.sh << 'END'
i=0
until awk '/, so far$/ { count++ } END { exit count < 2 }' ../err || [ $i = 600 ]; do i=$((i + 1)) && sleep 0.05; done
END
"$dpm" run --meter ptrace --store none --interval 250ms -- sh -c "'$load' 2000 64; sh ../reported.sh" > ../out 2> ../err
check "--interval reports, too" test "$(grep -c ', so far$' ../err)" -ge 2
check "... beside the last report" grep -q '^Matched receives: 2,000 exact' ../err

"$dpm" run --store none -o t.trace -- touch ran > ../out 2> ../err
check_equal "a trace that is not to be written has no name" \
    "2 dpm: run: --store none writes no trace: leave out --output (try: dpm run --help)" "$? $(cat ../err)"
check_equal "... and nothing runs" "" "$(ls)"

only_kernel "dpm acquire without a trace" "it needs the kernel meter" || finish
cd .. && mkfifo go && cd empty || exit 1
sh -c 'read -r line < ../go; exec "$0" 2000 64' "$load" > ../truth &
pid=$!
take_over --store none --kinds unix --report ../acquired -p $pid
echo > ../go
wait $pid
wait $acquirer
mv out err ..
check "dpm acquire reports what it has seen" grep -q '^Matched receives: 2,000 exact' ../acquired
check_equal "... and leaves no file" "" "$(ls)"

finish
