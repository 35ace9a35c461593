#!/bin/sh
# SPDX-License-Identifier: MIT
# report_test.sh BUILD_FOLDER: `dpm report`: its text, its page and its JSON, for sample traces with hostile names. (What it
# finds: findings.story.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"

# ---- output formats ----

runs "a report of two machines" "$dpm" report alpha beta
check_equal "it begins with what was recorded" "2 traces, machines alpha, beta, 74.0 ms, 56 events, 3 lost" \
    "$(head -n 1 out)"
says "... and says what was lost" "dpm: alpha: 3 records were lost"
for title in 'What was found' Processes 'Who sent to whom' Connections Parallelism \
    'Critical path of all requests, their times added up' 'Paths of requests'; do
    check_equal "there is: $title" 1 "$(grep -cx "$title" out)"
done
check_equal "each table says what shows all of it" "$(grep -c '^[A-Z][a-z ,]*$' out)" \
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
# well_formed FILE: as XML, but for the scripts, if a parser is installed.
well_formed() {
    if command -v xmllint > /dev/null; then
        sed '/^<script>/,/<\/script>$/d' "$1" > markup.xml
        check "$1 is well-formed" xmllint --noout markup.xml
    else
        skip "$1 is well-formed" "xmllint is not installed"
    fi
}
account=$(dirname "$0")/../stories/page_account.py
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
    check_not "$page loads nothing" grep -q -i -e 'https\{0,1\}://' -e '<link' -e '@import' -e 'url([^#]' "$page"
    # shellcheck disable=SC2086
    "$dpm" why --json $traces > why.json 2> why.err
    check_equal "... its chart adds up to dpm why, and no name is markup" ok "$("$account" "$page" --why why.json 2>&1)"
    check "... and it is small" test "$(wc -c < "$page")" -lt 300000
done
check_not "no name is markup" grep -q "q\"\\\\" alpha.html
runs "a page to standard output" "$dpm" report --html - alpha
check_equal "... is the same" "$(cat alpha.html)" "$(cat out)"
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
runs "a page of a crowd" "$dpm" report --html crowd.html crowd
well_formed crowd.html
check_equal "... is right" ok "$("$account" crowd.html)"
data() {
    sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$1"
}
check_equal "the map has 40 groups with most traffic, and the others" 41 "$(data crowd.html | jq '.map.nodes | length')"
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

# ---- analyses ----

runs "some analyses" "$dpm" report --analyses path,causality --json alpha
check_equal "... are there, and no other" 'causality findings path statistics why' "$(jq -r 'keys[]' out | xargs)"
runs "all but some" "$dpm" report --analyses -path,-why --json alpha
check_equal "... are there" 'causality findings parallelism statistics' "$(jq -r 'keys[]' out | xargs)"
fails "an unknown analysis" 2 "report: --analyses 'x': choose from" "$dpm" report --analyses x alpha
fails "no analysis" 2 "report: --analyses '': choose from" "$dpm" report --analyses "" alpha

# ---- threads ----

# same_with_threads FACE...: the report of two machines does not depend on how many threads read it.
same_with_threads() {
    for threads in 1 2; do
        "$dpm" report --threads $threads "$@" alpha beta > face.$threads 2> err || return
    done
    cmp face.1 face.2
}
check "the text does not depend on how many threads read" same_with_threads
check "... nor the JSON" same_with_threads --json
check "... nor the page" same_with_threads --html -
fails "no thread" 2 "report: --threads '0'" "$dpm" report --threads 0 alpha
finish
