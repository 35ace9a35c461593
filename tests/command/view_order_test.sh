#!/bin/sh
# SPDX-License-Identifier: MIT
# view_order_test.sh BUILD_FOLDER: a view over two queues on two hosts that change 4,000 times a second, against the programs' own
# accounts: whenever it is active, both were long, and whenever both were, it is active, or says that it does not know.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
long_ones || skip_all "making hosts takes long: only with ./dev test --all"
need_meter
need_programs ip ssh python3 jq nats-server unshare setpriv
hosts=$(realpath "$tests/../../scripts/hosts")
queue=$(realpath "$1/tests/programs/busy-queue")
dir=$scratch/hosts

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" web1 db1 > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
shared=$dir/shared
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"

cat > two.view << 'EOF_'
ATTRIBUTE DEFINITION FOR OBJECT Q
    len: queue.length;
    AT "queue_changed";
END ATTRIBUTE DEF
VIEW DEF Both (one: Q["web1:busy-queue"].len, two: Q["db1:busy-queue"].len)
    ACTIVE WHEN (Q["web1:busy-queue"].len > 24) AND (Q["db1:busy-queue"].len > 24);
    CORRECT TO WITHIN 25 MS;
END VIEW DEF
VIEW DEF Empty (len: Q[*].len) ACTIVE WHEN Q[*].len = 0; END VIEW DEF
EOF_
"$dpm" view --host web1,db1 --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" --object Q=busy-queue --json \
    --control control run two.view > lines 2> err &
monitor=$!
mkfifo "$shared/web1" "$shared/db1"
"$hosts" run "$dir" web1 "$queue" "$shared/web1.log" 5 4000 1 < "$shared/web1" &
web1=$!
"$hosts" run "$dir" db1 "$queue" "$shared/db1.log" 5 4000 5 < "$shared/db1" &
db1=$!
exec 8> "$shared/web1" 9> "$shared/db1"
begun() {
    grep -q '"Empty","row":"web1:' lines && grep -q '"Empty","row":"db1:' lines
}
check "queues on both hosts are found" wait_for 60 begun
for host in web1 db1; do # the answer comes when all sensors there are on
    "$dpm" view control control probe "Q[\"$host:busy-queue\"].len" > probed
    check "... with their lengths" grep -q '"value":0' probed
done
echo >&8
echo >&9
wait $web1 $db1
exec 8>&- 9>&-
sleep 1
kill -INT $monitor
wait $monitor
check_equal "a signal ends it" 0 $?

bound=$(sed -n 's/.*its clock is .* to \([0-9.]*\) ms/\1/p; s/.*clocks of the hosts are known to \([0-9.]*\) ms.*/\1/p' err | sort -n | tail -1)
"$tests/two_queues.py" "$shared/web1.log" "$shared/db1.log" lines 1 "$(jq -n "2 * $bound")" > verdict
check "both are long again and again" grep -qE '^[1-9][0-9]* true' verdict
check "no true interval is missed" grep -q ' 0 missed' verdict
check "... and most of the time it knows" grep -qE ' [0-9]{1,2}\.[0-9] % unknown' verdict
check "no activation is false" grep -q ' 0 false' verdict
check_equal "each change was seen, for both views" 80000 "$(jq 'select(.end) | .end.hits' lines)"
check_equal "nothing was lost" '0 0' "$(jq -r 'select(.end) | .end | "\(.lost) \(.unsent)"' lines)"
sed 's/^/# /' verdict
finish
