#!/bin/sh
# SPDX-License-Identifier: MIT
# browser_test.sh BUILD_FOLDER: pages of dpm report in Chromium, light and dark, on a screen, a phone and paper, with the
# keyboard, and held against axe's rules for accessibility (browser.mjs). Only in ./dev test --all: it needs Chromium, and fetches
# two packages of npm once, which nothing else uses.
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
long_ones || skip_all "only in ./dev test --all"
need_programs chromium node npm
. "$(dirname "$0")/sample.sh"

. "$here/browser_modules.sh"

# ---- pages ----

"$dpm" report --html two-machines.html alpha beta 2> err
"$dpm" report --html crowd.html crowd 2> err
"$dpm" run --meter ptrace -o tsp.trace -- "$build/examples/tsp/tsp" > out 2> err
"$dpm" report --html tsp.html tsp.trace 2> err
pages="two-machines.html crowd.html tsp.html"
if [ -x "$build/bench/generate" ]; then
    "$build/bench/generate" --records 100000 --processes 5000 --paths 5000 many-a many-b > out 2> err
    "$dpm" report --html many.html many-a many-b 2> err
    check "a page of 5,000 processes has at most 3 MB" test "$(wc -c < many.html)" -lt 3000000
    pages="$pages many.html"
fi
for page in $pages; do
    timeout 3000 node "$here/browser.mjs" "$modules" "$(command -v chromium)" "$PWD/$page" > said 2>&1
    check_equal "$page: it ends" 0 $?
    check_equal "... nothing is wrong in any window, with any key, or on paper" "" "$(cat said)"
done
finish
