#!/bin/sh
# SPDX-License-Identifier: MIT
# manual_test.sh BUILD_FOLDER: the manual pages are clean mdoc, each command has one, and page and --help have the same
# options.
set -u
here=$(cd "$(dirname "$0")" && pwd)
pages=$here/../../man
dpm=$1/dpm
# shellcheck source=tests/command/tap.sh
. "$here/tap.sh"

# commands: those listed by `dpm --help`, on lines with two blanks, the name, and more blanks.
commands() {
    "$dpm" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | grep -vx help
}

# options_of_help COMMAND, options_of_page COMMAND: one a line, sorted: -o, --wait ...
options_of_help() {
    "$dpm" "$1" --help | sed -n 's/^  \(--*[a-z][a-z-]*\).*/\1/p' | sort
}

options_of_page() {
    sed -n 's/^\.It Fl \([a-z-]*\).*/-\1/p' "$pages/dpm-$1.1" | sort
}

if command -v mandoc > /dev/null; then
    for page in "$pages"/*.[0-9]; do
        check "$(basename "$page") is clean" mandoc -T lint -W warning "$page"
    done
else
    skip "the pages are clean" "mandoc is not installed"
fi

check "dpm --help lists commands" test "$(commands | wc -l)" -ge 4
for command in $(commands); do
    check_equal "page and --help of $command know the same options" \
        "$(options_of_help "$command")" "$(options_of_page "$command")"
done
finish
