#!/bin/sh
# SPDX-License-Identifier: MIT
# rules_hosts_test.sh BUILD_FOLDER: selection rules in a session: evaluated on two hosts while they record, and by a filter
# process; they change while the recording goes on. The hosts are this machine (local_hosts.sh).
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
. "$(dirname "$0")/local_hosts.sh"
cd "$scratch" || exit 1
trap 'end_local_hosts; rm -rf "$scratch"' EXIT

# Writes known sizes until it is told that it is enough, and their list.
cat > writer.py << 'END'
import os, sys, time
number = 0
with open(sys.argv[1], "w", buffering=1) as log:
    while not os.path.exists(sys.argv[2]):
        size = number * 7 % 997 + 1
        os.write(1, b"x" * size)
        log.write("%d\n" % size)
        number += 1
        time.sleep(0.005)
END
# program HOST: what runs there
program() {
    echo "sh -c 'python3 $scratch/writer.py $scratch/log.$1 $scratch/enough | cat > /dev/null'"
}

# of TRACE TYPE FIELD
of() {
    "$dpm" dump --json --type "$2" "$1" 2> err | jq -r "$3"
}

echo 'type=send, size>=900, process=python*; type=receive, process=cat;' > session.rules
echo 'type=receive, process=cat;' > filter.rules
"$dpm" run -r session.rules --rsh "$scratch/rsh" --remote-dpm "$dpm" --session chosen -o all \
    --host a:"$(program a)" --host b:"$(program b)" > run.out 2> run.err &
run=$!
for host in a b; do
    check "host $host begins" wait_for 60 test -s "log.$host"
done
"$dpm" filter --from chosen -r filter.rules -o selected > filter.out 2>&1 &
filter=$!
check "the filter stores the packets" wait_for 60 test -s selected/.packets/a/data
kill -KILL $filter
wait $filter
"$dpm" filter --from chosen -r filter.rules -o selected > filter.out 2>&1 &
filter=$!
echo 'type=send, size>=950, process=python*; type=receive, process=cat, size>=500, PC=#*;' > new.rules
mv new.rules session.rules
check "rules that change are reported" wait_for 30 grep -q 'session.rules has changed; each host says' run.err
for host in a b; do
    check "... and $host says when they are in force" wait_for 30 grep -qx "dpm: $host: the new rules are in force" run.err
done
sleep 0.5 # both go on
: > enough
wait $run
check_equal "the run ends" 0 $?
wait $filter
check_equal "the filter, which was killed and started again, ends with the session" 0 $?

for host in a b; do
    of all/$host flags .rules > rules
    check_equal "the trace of $host has both sets of rules" "2 2" "$(xargs < rules)"
    "$dpm" dump --json all/$host 2> err > whole.json
    # by position in the order of the trace: FLAGS are where the rules change
    jq -r 'if .event == "FLAGS" then "change" elif .event == "SEND" then .bytes else empty end' whole.json > sends
    awk '$1 >= 900' "log.$host" > large
    before=$(awk '$1 == "change" { changes++; next } changes < 2' sends | wc -l)
    { head -n "$before" large; tail -n "+$((before + 1))" large | awk '$1 >= 950'; } > expected
    grep -v change sends > found
    check "... and each write that they select, and no other" cmp expected found
    check_equal "... whose fields that the second ones discard are absent" '["pc"]' \
        "$(of all/$host receive 'select(.bytes < 500 | not) | .absent // empty | tojson' | sort -u)"
    check "... of which most were never recorded" test \
        "$(of all/$host discarded 'select(.stream == 0) | .count' | awk '{ sum += $1 } END { print sum + 0 }')" -gt 50
    check "dpm filter selects the same offline" "$dpm" filter -r filter.rules "all/$host" -o "offline.$host"
    for trace in selected offline; do
        folder=$([ $trace = selected ] && echo selected/$host || echo offline.$host)
        "$dpm" dump --json --type receive "$folder" 2> err | jq -c 'del(.time)' > $trace.json
    done
    check "... as the filter process has" cmp selected.json offline.json
    check "... and there are some" test -s selected.json
done
check_not "the packets are removed in the end" test -e selected/.packets
finish
