#!/bin/sh
# SPDX-License-Identifier: MIT
# report_test.sh BUILD_FOLDER: `dpm report`: its text, its page and its JSON, for sample traces with hostile names; and
# its findings in real recordings: the two bugs of the travelling salesman program of Miller's thesis, and a pipeline.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/sample.sh"

# ---- output formats ----

runs "a report of two machines" "$dpm" report alpha beta
check_equal "it begins with what was recorded" "2 traces, machines alpha, beta, 75.0 ms, 56 events, 3 lost" \
    "$(head -n 1 out)"
says "... and says what was lost" "dpm: alpha: 3 records were lost"
for title in 'What was found' Processes 'Who sent to whom' Connections Parallelism 'Critical path' \
    'Paths of requests'; do
    check_equal "there is: $title" 1 "$(grep -cx "$title" out)"
done
check_equal "each table says what shows all of it" "$(grep -c '^[A-Z][a-z ]*$' out)" \
    "$(($(grep -c '^(.*: dpm [a-z]* .*alpha beta)$' out) + 1))"
check "what it rests on is there" grep -q '^Matched receives: 16 exact' out
check "no sentence is wider than 78" sh -c "sed -n '/^What was/,/^Processes/p' out |
    awk 'length > 78 { found = 1 } END { exit found }'"
check "nothing that commands a terminal" sh -c "! grep -q '[[:cntrl:]]' out"
mkdir "o'dd name" && cp -r alpha/. "o'dd name"
runs "a trace with an odd name" "$dpm" report "o'dd name"
check "... is quoted for a shell" grep -qF "dpm path --all 'o'\\''dd name')" out

runs "JSON" "$dpm" report --json alpha beta
cp out report.json
check_equal "its members" "causality findings parallelism path statistics why" \
    "$(jq -r 'keys | join(" ")' report.json)"
for command in stats why parallelism path causality; do
    "$dpm" $command --json alpha beta > $command.json 2> part.err
done
jq -s -r '.[-1] as $report | "statistics \(.[0] == $report.statistics)", "why \(.[1] == $report.why)",
    "parallelism \(.[2].rows == $report.parallelism.rows and (.[2].rows | length) > 0)", "path \(.[3] == $report.path)",
    "causality \(.[4] == $report.causality)"' stats.json why.json parallelism.json path.json causality.json report.json > same
check_equal "each part is that of its command" "statistics true
why true
parallelism true
path true
causality true" "$(cat same)"
check "findings have a topic and a sentence" \
    jq -e '.findings | length > 5 and all(.topic != "" and (.text | endswith(".")))' report.json

# ---- the page ----

# processes TRACE...: "name[pid]" of all, as XML has them, with "@machine" if there are several.
processes() {
    "$dpm" stats --json "$@" 2> stats.err | jq -r '(.trace.machines | length) as $machines |
        .processes[] | select(.pid != null) |
        "\(.name)[\(.pid)]" + (if $machines > 1 then "@\(.machine)" else "" end) |
        gsub("&"; "&amp;") | gsub("<"; "&lt;") | gsub(">"; "&gt;") | gsub("\""; "&quot;") | gsub("\u0027"; "&#39;")'
}
# well_formed FILE: as XML, if a parser is installed.
well_formed() {
    if command -v xmllint > /dev/null; then
        check "$1 is well-formed" xmllint --noout "$1"
    else
        skip "$1 is well-formed" "xmllint is not installed"
    fi
}
# has_all PAGE TRACE...: the page names every process of the traces.
has_all() {
    page=$1
    shift
    processes "$@" > names
    check "$page: the traces have processes" test -s names
    text=$(cat "$page")
    missing=$(while read -r name; do
        case $text in *"$name"*) ;; *) echo "$name" ;; esac
    done < names)
    check_equal "$page names every process" "" "$missing"
}
for traces in alpha gamma 'alpha beta'; do
    page=$(echo "$traces" | tr -d ' ').html
    # shellcheck disable=SC2086 # several traces
    runs "a page of $traces" "$dpm" report --html "$page" $traces
    check_equal "... and nothing else" "" "$(cat out)"
    well_formed "$page"
    # shellcheck disable=SC2086
    has_all "$page" $traces
    check_not "$page loads nothing" grep -q -i -e 'https\{0,1\}://' -e '<script' -e '<link' -e '@import' -e 'url(' "$page"
done
check_not "no name is markup" grep -q "q\"\\\\" alpha.html
runs "a page to standard output" "$dpm" report --html - alpha
check_equal "... is the same" "$(cat alpha.html)" "$(cat out)"
sed -n 's/.*data="data:image\/svg+xml;base64,\([^"]*\)".*/\1/p' alpha.html > pictures
check_equal "it has two pictures" 2 "$(wc -l < pictures)"
while read -r picture; do
    echo "$picture" | base64 -d > picture.svg
    well_formed picture.svg
done < pictures
# selectors FILE EXPRESSION: selectors with a colour in the part of the style that the expression leaves.
selectors() {
    tr -d '\n' < "$1" | LC_ALL=C sed "s/<\/style>.*//; $2" | tr '}' '\n' | grep '#[0-9a-f]\{3,6\}' | sed 's/{.*//' | sort -u
}
for kind in path states; do
    if [ $kind = path ]; then
        "$dpm" graph -o drawn.svg alpha > out 2> err
    else
        "$dpm" causality --diagram drawn.svg alpha > out 2> err
    fi
    selectors drawn.svg 's/.*<style>//; s/@media.*//' > light
    selectors drawn.svg 's/.*@media screen and (prefers-color-scheme:dark){//' > dark
    check "$kind: the picture has colours" test "$(wc -l < light)" -gt 5
    check_equal "... and each has its like on dark paper" "$(cat light)" "$(cat dark)"
    check_not "... none stands elsewhere" sh -c "sed '/<style>/,/<\/style>/d' drawn.svg | grep -q '=\"#[0-9a-f]'"
done
check "the page's own drawings have the colours of the page, light and dark" sh -c "
    grep -q '@media screen and (prefers-color-scheme:dark){:root{--ink:' alpha.html &&
    ! sed -n '/<svg/,/<\/svg>/p' alpha.html | grep -q '#[0-9a-f]\{3,6\}'"
check_equal "... and so have the frames of the others" 1 "$(grep -c '^.drawing{background:var(--paper)' alpha.html)"
runs "a page of a crowd" "$dpm" report --html crowd.html crowd
well_formed crowd.html
check_equal "the matrix has the 40 with most traffic, and the others" 41 \
    "$(grep -c '^<tr><th>[^<]*</th><td' crowd.html)"
check "... and says how many these are" grep -q '40 with most traffic; 170 others are one' crowd.html
check "it stays small" test "$(wc -c < crowd.html)" -lt 300000

# ---- errors ----

refuses_what_is_no_trace report
fails "no trace" 2 'report: name a trace' "$dpm" report
fails "both faces" 2 '.*give only one' "$dpm" report --html x.html --json alpha
fails "a page that cannot be written" 1 'none/x.html: cannot be written' "$dpm" report --html none/x.html gamma
fails "a page on a full device" 1 '/dev/full: cannot be written: No space left' "$dpm" report --html /dev/full gamma
# on_small_disk: of two pages, the second does not fit
on_small_disk() {
    unshare -m sh -e -c 'mount -t tmpfs -o size=8k small small
        echo old > small/old.html
        "$1" report --html small/old.html gamma 2>&1 || echo $?
        ls -A small
        cat small/old.html' sh "$dpm"
}
mkdir small
if unshare -m mount -t tmpfs small small 2> err; then
    check_equal "if the disk is full, the older page stays, and nothing of the new one" \
        "dpm: small/old.html: cannot be written: No space left on device 1 old.html old" "$(on_small_disk | xargs)"
else
    skip "a page on a full disk" "$(cat err)"
fi
"$dpm" report --html - gamma > gamma.html
ln -s gamma.html link.html
runs "a page over another, at the end of a link" "$dpm" report --html link.html gamma
check_equal "... is that file, with its mode" "gamma.html $(stat -c %a gamma.html)" "$(readlink link.html) $(stat -c %a gamma.html)"
check_equal "a page on standard output by its name" "$(cksum < gamma.html)" "$("$dpm" report --html /dev/stdout gamma | cksum)"
cannot_print "report" "$dpm" report gamma
cannot_print "report as a page" "$dpm" report --html - gamma

# ---- findings ----

find_meter
if [ -z "$meter" ]; then
    skip "findings in real recordings" "no meter runs here: $(echo "$reason" | tail -n 1)"
    finish
fi
tsp=$build/examples/tsp/tsp

# found TOPIC: its sentences.
found() {
    jq -r --arg topic "$1" '.findings[] | select(.topic == $topic).text' report.json
}
# record NAME ARGUMENT...: the travelling salesman program, and its report. There are enough cities to make the work far
# greater than the start of a server.
record() {
    name=$1
    shift
    # the leak sanitizer would create processes of its own
    "$dpm" run -o "$name.trace" --report "$name.txt" -- env ASAN_OPTIONS=detect_leaks=0 "$tsp" --cities 16 --servers 4 "$@" > tour
    "$dpm" report --json "$name.trace" > report.json
}
record used --bug one-used
found Idle > idle
check "one used: three of four servers were idle" grep -qE \
    '^3 of 4 tsp-server did next to nothing: (tsp-server[^ ]*,? ?){3}\. Together they have .* and 9 messages; ' idle
found Created > created
check "... and four were created" grep -q 'tsp\[[0-9]*\] created 4 processes' created
check "... P says so" sh -c "jq -r '.findings[].text' report.json | grep -q '^P = [01].[0-9]* of 5 threads'"
# (with --all: on a busy machine other causes explain more)
check "... in words, too" sh -c "'$dpm' report --all used.trace | sed -n '/^What was found/,/^$/p' | tr -s ' \n' ' ' |
    grep -q 'Idle 3 of 4 tsp-server did next to nothing'"
# ends_with_findings NAME: the recording printed the findings of the report of NAME.trace at its end: the file `found`.
ends_with_findings() {
    "$dpm" report "$1.trace" | sed -n '/^What was found$/,/^$/p' | sed '/^([0-9]* more, which explain nothing: --all)$/d' > found
    check_equal "dpm run says what the report of $1.trace finds" "$(cat found)" \
        "$(sed -n '/^What was found$/,/^$/p' "$1.txt" | sed '/^(/d')"
}
ends_with_findings used
for topic in Parallelism Path; do
    check "... $topic among it" grep -q "^$topic  *[^ ]" found
done
check "... and the command for more details" grep -qxF '(more of it: dpm report used.trace)' used.txt
"$dpm" run -o requests.trace --report requests.txt -- \
    env ASAN_OPTIONS=detect_leaks=0 "$build/examples/filesystem/filesystem" --requests 50 > said
ends_with_findings requests
check "... the ways that requests took among it" grep -q '^Requests .* are [A-G]*: median ' found
# the drawings agree with the figures
"$dpm" report --html requests.html requests.trace
"$dpm" report --json requests.trace > report.json
# plain: process names without what their command lines add to them: "user-process 4 3 -1[12]" is user-process[12]
plain() {
    sed -E 's/^([^[ ]+) [^[]*\[/\1[/; s/ to ([^[ ]+) [^[]*\[/ to \1[/'
}
check_equal "an arc for each pair that sends, with its messages" "$(jq -r '.statistics | .processes as $processes |
    .pairs[] | select(.messages > 0) | [(.from, .to) as $id | $processes[] | select(.id == $id) | "\(.name)[\(.pid)]"] as $who |
    "\($who[0]) to \($who[1]): \(.messages)"' report.json | sort)" \
    "$(sed -n 's/^<g class="arc"><title>\(.*: [0-9,]*\) messages, .*/\1/p' requests.html | tr -d , | plain | sort)"
check_equal "... the widest has the most bytes" "$(jq -r '.statistics | .processes as $processes | .pairs | max_by(.bytes) |
    [(.from, .to) as $id | $processes[] | select(.id == $id) | "\(.name)[\(.pid)]"] | join(" to ")' report.json)" \
    "$(sed -n 's/^<g class="arc"><title>\(.*\): [0-9,]* messages.*stroke-width="\([0-9.]*\)".*/\2 \1/p' requests.html |
        sort -rn | head -n 1 | cut -d ' ' -f 2- | plain)"
whole_bar=$(sed -n 's/.*P of [0-9]* threads; a whole bar is \([0-9.]*\)\. .*/\1/p' requests.html)
jq -r --argjson whole "$whole_bar" '.parallelism.rows | to_entries[] |
    select(.key == 0 or .value.step == "sharing").value |
    "\(.assignment) \(.step) \(.P) \(.P / $whole * 500)"' report.json > bars
sed -n 's/^<text x="0" y="[0-9]*">\([^<]*\)<.*>\([a-z]*\)<\/text><rect class="frame".*<rect class="bar.*" width="\([0-9.]*\)" height="16"\/><text[^>]*>\([0-9.]*\)<.*/\1 \2 \4 \3/p' \
    requests.html > drawn
check_equal "a bar for each P" "$(cut -d ' ' -f 1-2 bars)" "$(cut -d ' ' -f 1-2 drawn)"
# the length of a whole bar is printed with four digits: up to 0.25 of 500
check "... which is next to it, and as long as it is" sh -c "paste -d ' ' bars drawn |
    awk 'function off(one, other) { return one > other ? one - other : other - one }
        off(\$3, \$7) > 0.0051 || off(\$4, \$8) > 0.31 { wrong++ } END { exit NR == 0 || wrong }'"
"$dpm" run --kinds pipe -o asleep.trace --report asleep.txt -- sleep 0.2
ends_with_findings asleep
check "... its wait among it" grep -q '^Time .* slept until a timer' found
check_not "... and said once" grep -q '^Waits' found
check "... but all say how many" sh -c "'$dpm' report --all asleep.trace |
    grep -q '^Waits  *\([2-9][0-9][0-9] ms\|[0-9.]* s\) of .* were spent in [0-9]* waits* that'"
large="of a large trace only the statistics say something at once"
if [ "$meter" = kernel ] && ! long_ones; then
    skip "$large" "takes long: only with ./dev test --all"
elif [ "$meter" = kernel ]; then
    "$dpm" run -o large.trace --ring 64M --report large.txt -- "$build/tests/programs/load" 240000 1 > said
    check_equal "a large trace is whole" 0 "$("$dpm" stats --json large.trace | jq .trace.lost)"
    check "$large" \
        grep -qxF '(parallelism, the critical path, waits and requests: dpm report large.trace)' large.txt
    check_not "... no analysis does" grep -q '^Parallelism' large.txt
fi
if long_ones; then
    record created --bug one-created
    check "one created: that one did the work" jq -e '.findings | map(select(.topic == "Work"))[0].text |
        test("of 2 processes.* did ([6-9].|100)%") and test("tsp-server")' report.json
    check_equal "... the only one that was created" "created 1 process: tsp-server" \
        "$(found Created | sed 's/^tsp\[[0-9]*\] //; s/\[[0-9]*\]\.$//')"
else
    skip "one created: that one did the work" "takes long: only with ./dev test --all"
fi
record whole
check_equal "without a bug no server is idle" "" "$(found Idle)"
check_equal "... and the work is shared" 1 "$(found Work | grep -c 'was shared: the busiest of 5 processes')"

"$dpm" run --kinds pipe -o pipe.trace --report pipe.txt -- sh -c 'head -c 20000000 /dev/urandom | gzip -9 | wc -c' > size
"$dpm" report --json pipe.trace > report.json
# half of its CPU time, as a share of the elapsed time, which depends on what else runs on this machine
check "a pipeline: gzip carries the critical path" jq -e '.path as $path | [.findings[] | select(.kind == "critical")][0].text |
    capture("^gzip\\[[0-9]+\\] carries (?<part>[0-9.]+)% of the critical path.* If it ran twice as fast, the run would take (?<less>[0-9.]+)% less") |
    (.part | tonumber) >= 60 and ((.less | tonumber) -
        100 * ($path.path_ns - $path.carrier.twice_as_fast_path_ns) / $path.elapsed_ns | fabs) <= 1' report.json
check "... and late" sh -c "jq -r '.findings[] | select(.topic == \"Late\").text' report.json |
    grep -q 'waited in the receive queue of gzip'"
runs "a page of it" "$dpm" report --html pipe.html pipe.trace
well_formed pipe.html
has_all pipe.html pipe.trace

# without findings there is no hint for more
"$dpm" run --flags accept -o nothing.trace --report nothing.txt -- true
sed -n '/^What was found$/,/^Processes$/p' nothing.txt | sed '1d; $d; /^$/d' | tr -s ' ' > found
check_equal "of a recording of nothing there is nothing more" 'Nothing Too little was recorded to find anything.' "$(cat found)"
# no statement about events that were not metered; all servers exist before the first one sends
if long_ones; then
    printf '%s\n' '1 nobody --flags fork' '1 nobody --flags receive' > asked
else
    : > asked
    skip "recordings of one kind of event: fork, receive" "takes long: only with ./dev test --all"
fi
printf '%s\n' '0 nobody --flags send' '1 by-tcp --kinds tcp' >> asked
while read -r parallelisms silent asked; do
    # shellcheck disable=SC2086 # an option and its argument
    "$dpm" run $asked -o part.trace --report part.txt -- sh -c '{ sleep 0.2; seq 1000; } | sort -n | tail -1' > said < /dev/null
    "$dpm" report --json part.trace > report.json
    called=$(found Silent | sed 's/.* nothing over \([a-z,]*\): .*/by-\1/')
    check_equal "$asked: is a server called silent, and why" "$silent" "${called:-nobody}"
    check_equal "... is there a P" "$parallelisms" "$(found Parallelism | grep -c '^P = ')"
    check_equal "... and beside it what may make it less" "$parallelisms" "$(found Parallelism |
        grep -c '^P may be too high: edges are missing, because these were not metered: [a-z, ]*\.$')"
    check "... and what was not metered" grep -q '^\(Connections\|Events\) of these kinds were not metered: ' part.txt
    rm -rf part.trace
done < asked

runs "some analyses" "$dpm" report --analyses path,causality --json alpha
check_equal "... are there, and no other" 'causality findings path statistics' "$(jq -r 'keys[]' out | xargs)"
runs "all but some" "$dpm" report --analyses -path,-why --json alpha
check_equal "... are there" 'causality findings parallelism statistics' "$(jq -r 'keys[]' out | xargs)"
fails "an unknown analysis" 2 "report: --analyses 'x': choose from" "$dpm" report --analyses x alpha
fails "no analysis" 2 "report: --analyses '': choose from" "$dpm" report --analyses "" alpha

cp "$(command -v cat)" '<b>&"x'
"$dpm" run --kinds pipe -o markup.trace --report markup.txt -- sh -c "echo hello | ./'<b>&\"x' | wc -c" > size
runs "a page of a program whose name is markup" "$dpm" report --html markup.html markup.trace
well_formed markup.html
has_all markup.html markup.trace
check_not "... has it escaped" grep -q '<b>' markup.html
finish
