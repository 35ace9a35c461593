#!/bin/sh
# SPDX-License-Identifier: MIT
# summary_test.sh: scripts/test_summary, which sums up all other tests, counts every possible result of a test, in logs
# of the format of `meson test`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
summary=$here/../../scripts/test_summary
# shellcheck source=tests/command/tap.sh
. "$here/tap.sh"

command -v jq > /dev/null || skip_all "jq is not installed"

folder=$scratch/built
mkdir -p "$folder/meson-logs"

# log NAME RESULT STDOUT [STDERR]: adds a test to the log.
log() {
    jq -n -c --arg name "dpm:unit / $1" --arg result "$2" --arg stdout "$3" --arg stderr "${4-}" \
        '{name: $name, result: $result, stdout: $stdout, stderr: $stderr}' >> "$folder/meson-logs/testlog.json"
}

# counts NAME STATUS LINES: the summary of the log so far.
counts() {
    found=$("$summary" "$folder")
    check_equal "$1" "$2
$3" "$?
$found"
}

log tap OK '1..2
ok 1 - first
ok 2 - second'
log plain OK ''
counts "passed cases of TAP tests and of others" 0 '0 skipped
3 passed, 0 failed'

log shell OK 'ok 1 - loads # SKIP needs root
1..1'
log cmocka OK '1..1
# needs a kernel
not ok 1 # SKIP opens'
log whole SKIP '1..0 # SKIP no meter'
counts "skipped cases and their reasons" 0 'skipped: built/shell: loads: needs root
skipped: built/cmocka: opens: needs a kernel
skipped: built/whole: everything: no meter
3 skipped
3 passed, 0 failed'

rm "$folder/meson-logs/testlog.json"
log tap ERROR '1..3
ok 1 - first
not ok 2 - second
# expected 1
# found 2
ok 3 - third
# remark'
counts "a failed case and its reason" 1 '0 skipped
FAILED: built/tap: second | expected 1 | found 2
2 passed, 1 failed'

log died ERROR '1..2
ok 1 - first' 'free(): invalid pointer
'
log slow TIMEOUT ''
log empty SKIP ''
counts "tests that died or said nothing" 1 '0 skipped
FAILED: built/tap: second | expected 1 | found 2
FAILED: built/died: the test as a whole: ERROR | free(): invalid pointer
FAILED: built/slow: TIMEOUT
FAILED: built/empty: said nothing
3 passed, 4 failed'

rm "$folder/meson-logs/testlog.json"
log whole SKIP '1..0 # SKIP no meter'
counts "nothing passed is no success" 1 'skipped: built/whole: everything: no meter
1 skipped
0 passed, 0 failed'

check_not "a log that is not there" "$summary" "$scratch"
finish
