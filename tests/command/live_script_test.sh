#!/bin/sh
# SPDX-License-Identifier: MIT
# live_script_test.sh BUILD_FOLDER: what the page of dpm live makes of snapshots, without a browser (live_script.mjs).
. "$(dirname "$0")/tap.sh"
need_programs node
here=$(cd "$(dirname "$0")" && pwd)
node "$here/live_script.mjs" "$here/../../src/show" > "$scratch/said" 2>&1
check_equal "it ends" 0 $?
cut -d ' ' -f 2- "$scratch/said" | while read -r line; do echo "# $line"; done
check_equal "nothing is wrong" "" "$(grep -v '^ok' "$scratch/said")"
check "all cases were tried" test "$(grep -c '^ok' "$scratch/said")" -ge 8
finish
