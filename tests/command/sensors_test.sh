#!/bin/sh
# SPDX-License-Identifier: MIT
# sensors_test.sh BUILD_FOLDER: `--sensors`: what probes in a library report of metered processes is recorded, each report
# once: from threads, from children, from a library that is loaded late; and nothing of others. With a JVM, and a
# compiler for it, the truth is the JVM's own log.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
. "$here/meter.sh"
[ "$(id -u)" = 0 ] || skip_all "must be root to probe libraries"
need_meter
cd "$scratch" || exit 1
programs=$(realpath "$(dirname "$dpm")")/tests/programs
cp "$programs/libjvm.so" .

# reports TRACE NUMBER: how many SENSOR records of this sensor
reports() {
    "$dpm" dump --json --type sensor "$1" | jq -s "map(select(.sensor == $2)) | length"
}

# collections TRACE: how many were in a safepoint that has ended: the JVM logs no other
collections() {
    "$dpm" dump --json --type sensor "$1" | jq -s 'map(.sensor) | indices([65538, 65540]) | length'
}

# ---- a program that counts ----

"$dpm" run --sensors -o a.trace -- "$programs/collecting" ./libjvm.so 40 wait > out 2> err
check_equal "a program that waits for its probes ends" 0 $?
for sensor in 65537 65538 65539 65540; do
    check_equal "sensor $sensor reports each time, in a thread and in a child" "$(cat out)" \
        "$(reports a.trace $sensor)"
done
check_equal "a report names the thread that made it" 3 \
    "$("$dpm" dump --json --type sensor a.trace | jq -s 'map(.pid, .tid) | unique | length')"
check_equal "reports are in the order in which they were made" true \
    "$("$dpm" dump --json --type sensor a.trace | jq -s 'map(.sensor) | _nwise(4) | select(. != [65539, 65537, 65538, 65540])' |
        grep -q . && echo false || echo true)"
"$dpm" dump a.trace > dumped
check "a report has the probe's name" grep -qF -- "hotspot:gc__begin" dumped

# ---- not asked for, not possible ----

"$dpm" run -o b.trace -- "$programs/collecting" ./libjvm.so 5 > out 2> err
check_equal "without --sensors nothing is attached" 0 "$(reports b.trace 65537)"
"$dpm" run --sensors -o c.trace -- true > out 2> err
check "a program without such a library: one line says so" grep -qF -- "--sensors: no metered process loaded a library with probes that dpm knows" err
"$dpm" run --sensors --meter ptrace -o d.trace -- true > out 2> err
check_equal "the ptrace meter cannot" 1 $?
check "... and says what to do" grep -qF -- "--sensors needs the kernel meter, loaded by dpm itself: run dpm as root" err
"$dpm" run --sensors --host localhost -o e.trace -- true > out 2> err
check "other machines are refused" grep -qF -- "--sensors does not work with --host" err
echo "no library" > libjvm.so
"$dpm" run --sensors -o f.trace -- "$programs/collecting" ./libjvm.so 5 > out 2> err
check_equal "a file that is no library does no harm" 2 $?

# ---- running processes ----

cp "$programs/libjvm.so" .
"$programs/collecting" ./libjvm.so 30 wait > out &
collecting=$!
"$programs/collecting" ./libjvm.so 30 wait > /dev/null & # of this one nothing is recorded
"$dpm" acquire --sensors -o g.trace "$collecting" > /dev/null 2> err
wait
check_equal "a process that has loaded it before" "$(cat out)" "$(reports g.trace 65537)"

# ---- a JVM ----

cat > Garbage.java << 'END'
public class Garbage {
    static byte[][] kept = new byte[2000][];
    public static void main(String[] arguments) {
        for (int i = 0; i < 100000; i++)
            kept[i % kept.length] = new byte[2048];
    }
}
END
if command -v javac > /dev/null && javac Garbage.java 2> /dev/null; then
    for collector in Serial Parallel G1; do
        "$dpm" run --sensors -o "$collector.trace" -- \
            java -Xmx32m "-XX:+Use${collector}GC" -Xlog:safepoint:file=log Garbage > /dev/null 2> err
        check_equal "$collector: as many safepoints as in the JVM's own log" "$(grep -c Safepoint log)" \
            "$(reports "$collector.trace" 65540)"
        check_equal "$collector: as many collections" "$(grep -c 'Safepoint "[A-Za-z0-9]*\(Collect\|GC\|G1\)' log)" \
            "$(collections "$collector.trace")"
    done
else
    skip "a JVM's own log" "there is no javac"
fi
finish
