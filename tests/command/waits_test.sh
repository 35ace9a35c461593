#!/bin/sh
# SPDX-License-Identifier: MIT
# waits_test.sh BUILD_FOLDER: what a wait was for, in real programs: a child works for 100 ms, its parent waits for it
# and then works for 50 ms, so both are on the critical path, and nothing outside is. And the duration of a long wait.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs jq dash
waits=$1/tests/programs/waiting-parent
cd "$scratch" || exit 1

# path_of METER COMMAND...: the critical path of a command, in path.json.
path_of() {
    path_meter=$1
    shift
    case $2 in # its connections: loading hooks takes longer than the command
    pair) kinds=unix ;;
    first-message) kinds=all ;;
    *) kinds=pipe ;;
    esac
    rm -rf waits.trace
    "$dpm" run --meter "$path_meter" --kinds $kinds -o waits.trace --report none -- "$@" > out 2> err
    "$dpm" path --json waits.trace > path.json
}

# explains METER NAME COMMAND...: whether the path has all the work of the child and its parent. (If it were unknown
# what the parent waited for, the path would have only the parent's 50 ms.)
explains() {
    explains_name="$2, by the $1 meter"
    explains_meter=$1
    shift 2
    path_of "$explains_meter" "$@"
    check "$explains_name ($(jq -r '"\(.cpu_ns / 1e6 | floor) ms, and \(.outside_ns / 1e6 | floor) outside"' path.json))" \
        jq -e '.cpu_ns > 149e6' path.json
}

# record_long METER: a write that waits for 5 s, more than 32 bits of ns can express. (dd begins when the reader has opened the
# FIFO, and sleeps.)
record_long() {
    mkfifo "long-$1"
    "$dpm" run --meter "$1" -o "long-$1.trace" -- dash -c "dd if=/dev/zero of=long-$1 bs=200k count=1 2> dd-$1.err &
        { sleep 5 && cat > /dev/null; } < long-$1; wait" > "long-$1.out" 2> "long-$1.err"
}

# waits_long METER: it is as long as dd reports, and so is its message's wait.
waits_long() {
    "$dpm" dump --json "long-$1.trace" > long.json 2> dump.err
    "$dpm" stats --json "long-$1.trace" > stats.json 2> stats.err
    seconds=$(sed -n 's/.* copied, \([0-9.]*\) s,.*/\1/p' "dd-$1.err")
    check "a wait longer than 32 bits has its true duration, by the $1 meter (dd: $seconds s)" jq -e -s \
        --argjson seconds "$seconds" '[.[] | select(.event == "SEND" and .name == "dd") | .span_ns / 1e9] | max |
            . > 4.5 and . <= $seconds' long.json
    check "... and its message waits as long to be read, by the $1 meter" jq -e --argjson seconds "$seconds" \
        '[.. | objects | .message_wait_ns? // empty | .max / 1e9] | max | . > 4.5 and . < 2 * $seconds' stats.json
}

meters=ptrace
[ "$meter" = kernel ] && meters="kernel ptrace"
for each in $meters; do
    record_long "$each" & # in parallel with the other tests
done
for each in $meters; do
    explains "$each" "a shell's wait, which is one for a signal" \
        dash -c "'$waits' signal & wait"
    explains "$each" 'a signal that is taken' "$waits" signal-taken
    explains "$each" 'a wait for an adopted grandchild' "$waits" orphan
    explains "$each" 'a wait for the end of a silent pipe' "$waits" pipe
    explains "$each" 'a pipeline whose beginning says nothing' sh -c "'$waits' alone | '$waits' input"
    if long_ones; then
        explains "$each" 'a wait for a signal' "$waits" signal
        explains "$each" 'a wait for the end of a silent pair of sockets' "$waits" pair
    else
        skip "a wait for a signal, and for the end of a silent pair of sockets, by the $each meter" \
            "takes long: only with ./dev test --all"
    fi
done
if only_kernel 'a wait for the first message of a connection' 'it records a path before it is used'; then
    explains kernel 'a wait for the first message of a connection' "$waits" first-message
fi
if only_kernel 'a signal that is read' 'it does not see waits for such files'; then
    explains kernel 'a signal that is read' "$waits" signal-read
fi

wait
for each in $meters; do
    waits_long "$each"
done
finish
