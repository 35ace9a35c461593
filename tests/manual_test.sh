#!/bin/sh
# SPDX-License-Identifier: MIT
# manual_test.sh BUILD_FOLDER: the manual pages are clean mdoc, and each command has one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/tap.sh"

command -v mandoc > /dev/null || skip_all "mandoc is not installed"
for page in "$here"/../man/*.[0-9]; do
    check "$(basename "$page") is clean" mandoc -T lint -W warning "$page"
done
finish
