# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# tap.sh: shared by all shell tests: TAP lines on standard output, and a temporary scratch folder. A test is called as
# `sh tests/command/NAME_test.sh BUILD_FOLDER`:
#
#   . "$(dirname "$0")/tap.sh"
#   check "what must hold" test -d "$scratch"
#   check_not "what must fail" false
#   skip "what could not be tried" "the reason"
#   finish

unset COLUMNS # of the terminal of the caller: what files have must not depend on it
# with -e, no output is no success (strict/jq)
if DPM_TEST_JQ=$(command -v jq); then
    PATH=$(cd "$(dirname "$0")" && pwd)/strict:$PATH
    export DPM_TEST_JQ PATH
fi
tap_count=0
tap_failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# pass NAME, fail NAME [DETAIL]: one test case.
pass() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

fail() {
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $1"
    [ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/# /'
}

# skip NAME REASON: a test case that cannot run here.
skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# check NAME COMMAND...: passes if the command succeeds; otherwise its output is shown.
check() {
    tap_name=$1
    shift
    if "$@" > "$scratch/tap.output" 2>&1; then
        pass "$tap_name"
    else
        fail "$tap_name" "$(echo "failed: $*"; tail -n 20 "$scratch/tap.output")"
    fi
}

# check_not NAME COMMAND...: passes if the command fails.
check_not() {
    tap_name=$1
    shift
    if "$@" > "$scratch/tap.output" 2>&1; then
        fail "$tap_name" "$(echo "should fail: $*"; tail -n 20 "$scratch/tap.output")"
    else
        pass "$tap_name"
    fi
}

# check_equal NAME EXPECTED FOUND: passes if both texts are the same.
check_equal() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "$(printf 'expected: %s\nfound:    %s\n' "$2" "$3")"
    fi
}

# long_ones: whether to run long tests that seldom find a fault (./dev test --all).
long_ones() {
    [ -n "${DPM_LONG:-}" ]
}

# skip_all REASON: nothing in this test can run here. Ends the test.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# need_programs PROGRAM...: ends the test, skipped, if one of them is not installed.
need_programs() {
    for needed in "$@"; do
        command -v "$needed" > /dev/null || skip_all "$needed is not installed"
    done
}

# finish: prints the plan, and sets the exit status. The last line of a test.
finish() {
    [ -z "${repeated:-}" ] || echo "# repeated: $repeated" # (meter.sh)
    echo "1..$tap_count"
    [ "$tap_failed" = 0 ]
    exit
}
