#!/bin/sh
# SPDX-License-Identifier: MIT
# ptrace_coverage_test.sh BUILD_FOLDER: every way to send and to receive (coverage.c), metered by the ptrace meter. A
# traced process cannot trace itself, as the leak sanitizer does.
DPM_COVERED_BY=ptrace ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" \
    exec sh "$(dirname "$0")/coverage_test.sh" "$1"
