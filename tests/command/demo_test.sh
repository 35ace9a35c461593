#!/bin/sh
# SPDX-License-Identifier: MIT
# demo_test.sh BUILD_FOLDER: what `./dev demo` shows fits a terminal of 80 columns, and its last 24 lines have findings,
# which are those of the report, and commands for more; with each meter.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter

# Copies, with short names, which any user may run.
chmod 755 "$scratch"
mkdir -p "$scratch/build/examples/tsp"
cp "$dpm" "$scratch/build/"
cp "$1/examples/tsp/tsp" "$1/examples/tsp/tsp-server" "$scratch/build/examples/tsp/"
cp "$(dirname "$0")/../../scripts/demo" "$scratch/"
chmod -R a+rX "$scratch/build" "$scratch/demo"
mkdir -m 777 "$scratch/work"
cd "$scratch" || exit 1

# check_demo NAME COMMAND...: in COMMAND's environment
check_demo() {
    name=$1
    shift
    rm -rf work/*
    "$@" ./demo build work/tsp.trace > out 2> err < /dev/null
    check_equal "$name: the demo ends well" "0 " "$? $(cat err)"
    check_equal "$name: no line is wider than 80 columns" "" "$(awk 'length($0) > 80' out)"
    tail -n 24 out | sed -n '/^[A-Z][a-z]* .* the report:$/,/^More:$/p' | sed '1d; $d; /^$/d' > findings
    check "$name: its last 24 lines have two or three findings" \
        awk '/^[A-Z][A-Za-z ]*  +[^ ]/ { count++ } END { exit !(count == 2 || count == 3) }' findings
    check_equal "$name: ... which are the report's" "" "$(grep -vxFf work/tsp.trace.report findings)"
    check "$name: ... and commands for more" sh -c 'tail -n 24 out | grep -q "^  build/dpm report work/tsp.trace  " &&
        tail -n 24 out | grep -q "^  build/dpm run -- COMMAND"'
    check "$name: before them are records" grep -q '^20..-..-.. .* RECEIVE\|^20..-..-.. .* SEND' out
}

check_demo "the meter of this user" env
if [ $meter = ptrace ]; then
    skip "without privilege" "the ptrace meter was tried above"
elif [ "$(id -u)" != 0 ]; then
    skip "without privilege" "dpm has its capabilities from its file"
else
    export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # a traced process cannot trace itself
    check_demo "without privilege" setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs
    check "... it says which meter it uses" grep -q '^dpm: metering with ptrace' out
fi
finish
