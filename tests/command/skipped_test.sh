#!/bin/sh
# SPDX-License-Identifier: MIT
# skipped_test.sh BUILD_FOLDER: hooks that the kernel skips because they are already running on that processor are
# reported as lost everywhere. From then on, edges are not exact on paths whose positions hooks count.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
wrap=$1/tests/programs/wrap
tests=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 1
why='the kernel skipped hooks that were already running on that processor'

# lost TRACE: into the file lost.json, an array of its LOST records.
lost() {
    "$dpm" dump --json --type lost "$1" 2> /dev/null | jq -s . > lost.json
}

# reported TRACE COUNT: every reader reports this many skipped hooks, and no other losses.
reported() {
    lost "$1"
    check_equal "... LOST records count them, and nothing else" "$2 true" "$(jq -r '
        "\(map(.count) | add) \(all(.[]; .reason == 2 and .stream == 0 and .ring == 1))"' lost.json)"
    check_equal "... END counts them" "$2" "$("$dpm" dump --json --type end "$1" 2> err | jq .lost)"
    check_equal "... as an upper bound, in words" "dpm: $1: up to $2 records were not made: $why" "$(tr -d , < err)"
    check_equal "... dpm stats counts them" "$2 $2" \
        "$("$dpm" stats --json "$1" 2> err | jq -r '.trace | "\(.lost) \(.skipped)"')"
    check_equal "... says the same words" "dpm: $1: up to $2 records were not made: $why" "$(tr -d , < err)"
    check_equal "... and has them in its first line" "$2 lost" \
        "$("$dpm" stats "$1" 2> err | sed -n '1s/.* events, \(.* lost\)$/\1/p' | tr -d ,)"
}

# ---- initial counts as if the kernel had skipped hooks before the first record ----

"$wrap" seven.trace 0 0 7 16777216 5 sh -c 'sleep 0.2; echo message | cat' > out
check_equal "a recording of which 7 hooks were skipped at its beginning" 0 $?
reported seven.trace 7
check "... every message of a pipe is matched, none exactly" sh -c "'$dpm' dump --json --matched seven.trace 2> err |
    jq -e -s 'map(select(.event == \"RECEIVE\").edges[]?.kind) | index(\"inferred\") != null and index(\"exact\") == null'"
if command -v babeltrace2 > /dev/null; then
    check "... babeltrace2 says that events were discarded" sh -c "babeltrace2 seven.trace 2>&1 > out | grep -q discarded"
else
    skip "... babeltrace2 says that events were discarded" "babeltrace2 is not installed"
fi
if long_ones; then
    many=$((4294967296 + 7))
    "$wrap" many.trace 0 0 $many 16777216 5 true > out
    lost many.trace
    check_equal "counts beyond 32 bits have several records" "$many 2" \
        "$(jq -r '"\(map(.count) | add) \(length)"' lost.json)"
    "$wrap" none.trace 0 0 0 16777216 5 true > out
    lost none.trace
    check_equal "where none was skipped nothing is said" "[]" "$(jq -c . lost.json)"
else
    skip "counts beyond 32 bits, and of none" "takes long: only with ./dev test --all"
fi

# ---- hooks that are actually skipped ----

# nested COMMAND...: in a separate network, whose packets reach processor 1 by an interrupt.
nested() {
    unshare -n -m sh -c 'mount -t sysfs sysfs /sys && ip link set lo up &&
        echo 2 > /sys/class/net/lo/queues/rx-0/rps_cpus && exec "$@"' sh "$@"
}

# The kernel's own count for the programs that dpm, our parent, holds: when all is quiet again.
cat > load.sh << 'END'
python3 "$1" 2 || exit
cat "/proc/$PPID/fdinfo/"* 2> gone | awk '/^recursion_misses/ { sum += $2 } END { print sum + 0 }' > kernel # gone: closed meanwhile
END

if [ "$(nproc)" -lt 2 ] || ! nested true 2> nested.err; then
    skip "hooks are skipped" "needs 2 processors, root, and packet steering in a network of its own: $(head -n 1 nested.err)"
    finish
fi
for try in 1 2 3; do # their number depends on other programs
    rm -rf nested.trace
    nested "$dpm" run -o nested.trace --ring 64M --flags send,receive,messagequeued --kinds tcp,unix -- \
        sh load.sh "$tests/nested.py" > out 2> run.err
    check_equal "interrupts nest hooks, try $try" 0 $?
    sed 's/^/# /' out
    [ "$(cat kernel)" -lt 20 ] || break
done
skipped=$("$dpm" dump --json --type end nested.trace 2> err | jq .lost)
echo "# skipped: $skipped, when the load had ended $(cat kernel)"
check "the kernel has skipped some" test "$(cat kernel)" -gt 0
check "... and all that it counted are reported" test "$skipped" -ge "$(cat kernel)"
check "... in the recorder's words" grep -q "^dpm: up to .* not made: $why" run.err
check_not "... a larger ring is not recommended" grep -q "larger ring" run.err
reported nested.trace "$skipped"
# how many reports depends on how long it takes; one alone could be of the end
check "... while they happen" jq -e 'length > 1' lost.json

"$dpm" dump --json --matched --type receive nested.trace > receives.json 2> err
jq -c --slurpfile lost lost.json 'select(.event == "RECEIVE") | {kind, later: (.time_ns > $lost[0][0].time_ns),
    edges: [.edges[]?.kind]}' receives.json | sort | uniq -c > kinds
sed 's/^/# /' kinds
check_equal "on TCP, whose positions are the kernel's, all edges stay exact" exact \
    "$(grep '"tcp"' kinds | grep -o '"edges":.*' | grep -oE 'exact|ordered|inferred' | sort -u | xargs)"
check_equal "on UNIX sockets they are inferred from the first report on" inferred \
    "$(grep unix-stream kinds | grep '"later":true' | grep -o '"edges":.*' | grep -oE 'exact|ordered|inferred' | sort -u | xargs)"
check_equal "... and exact before" exact \
    "$(grep unix-stream kinds | grep '"later":false' | grep -o '"edges":.*' | grep -oE 'exact|ordered|inferred' | sort -u | xargs)"
finish
