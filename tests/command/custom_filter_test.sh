#!/bin/sh
# SPDX-License-Identifier: MIT
# custom_filter_test.sh BUILD_FOLDER: custom filters from outside: the C example, compiled against the installed headers alone, the
# Python example and the shell get the packets of finished traces and of a recording; filters that fail are reported, and never
# change the recording. feeding_test.c goes through what filters may do.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/sample.sh"
source=$here/../..
examples=$source/examples/filters

# ---- the installed headers ----

check "the headers are installed" sh -c "DESTDIR='$scratch/root' meson install -C '$build' --no-rebuild --tags devel"
headers=$(dirname "$(find root -path '*/include/dpm/stream.h')")/..
check_equal "... two of them" "record.h stream.h" "$(ls "$headers/dpm" | tr '\n' ' ' | sed 's/ $//')"
check "the C example compiles with them alone, without warnings" \
    cc -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -I "$headers" -o count_sends "$examples/count_sends.c"

# ---- finished traces ----

# end_records TRACE...: what the traces' ENDs say.
end_records() {
    "$dpm" dump --json --type end "$@" 2> err | jq -s 'map(.records) | add'
}
runs "a trace is handed to the C example" "$dpm" filter --filter ./count_sends alpha
cp out counted
cp err said
check_equal "... all of it" "with $(end_records alpha) records" "$(sed -n 's/^dpm: the filter took [0-9]* packets //p' said)"
check_equal "... which counts the same" "$(end_records alpha) records, 0 packets missed" \
    "$(sed -n 's/^[0-9]* packets, //p' counted)"
check_equal "... and the messages of dpm dump" \
    "$("$dpm" dump --json --type send alpha 2> err | jq -s 'map(.bytes) | add')" \
    "$(sed -n 's/.* messages, \([0-9]*\) bytes/\1/p' counted)"
runs "two traces" "$dpm" filter --filter ./count_sends alpha beta
check_equal "... are one stream" "$(end_records alpha beta) records, 0 packets missed" \
    "$(sed -n 's/^[0-9]* packets, //p' out)"
"$dpm" filter --filter "$dpm filter --to-json" alpha 2> err | jq -cS 'del(.machine)' | sort > json
"$dpm" dump --json alpha 2> err | jq -cS 'del(.machine, .procedure, .module, .procedure_offset)' | sort > dumped
check_equal "JSON lines have all records" "$(wc -l < dumped)" "$(wc -l < json)"
check_equal "... with the same sends" "$(jq -c 'select(.event == "SEND") | [.time, .path, .bytes]' dumped)" \
    "$(jq -c 'select(.event == "SEND") | [.time, .path, .bytes]' json)"

fails "a filter that ends at once" 1 '' sh -c "'$dpm' filter --filter 'exit 3' alpha 2>&1 | tail -n 1 >&2; exit 1"
check "... its status is reported" grep -qx 'dpm: the filter ended with exit status 3' err
"$dpm" filter --filter 'exit 3' alpha > out 2> said
check_equal "... and what it missed" "with $(end_records alpha) records: it had ended" \
    "$(sed -n 's/^dpm: the filter missed [0-9]* packets //p' said)"
"$dpm" filter --filter 'no-such-filter 2> no' alpha > out 2> err
check "a filter that does not exist" grep -qx 'dpm: the filter could not be started: exit status 127' err
"$dpm" filter --filter 'kill -KILL $$' alpha > out 2> err
check "a filter that is killed" grep -qx 'dpm: the filter was killed by signal 9' err

# ---- mistakes ----

fails "JSON of nothing that dpm wrote" 1 'this is not a stream of packets of DPM' sh -c "head -c 1000 /dev/zero | '$dpm' filter --to-json"
check_equal "JSON of an empty stream" "0 " "$("$dpm" filter --to-json < /dev/null > out 2> err; echo $? "$(cat out err)")"
fails "JSON of a trace" 2 "filter: --to-json reads packets from standard input: unexpected argument 'alpha'" \
    "$dpm" filter --to-json alpha
fails "no trace to filter" 2 'filter: --filter reads what is stored: it goes with --store all only' \
    "$dpm" filter --from x --store none --filter cat
echo 'type=send;' > send.rules
fails "rules and a filter" 2 'filter: --filter or --rules: select first' "$dpm" filter --filter cat -r send.rules alpha -o x
# what a use of the command would ignore is refused
for option in "--rsh x" "--machine x" "--store none" "--max-age 1m" "--interval 5s" "--host x" "--fabric-ca x"; do
    # shellcheck disable=SC2086 # an option and its argument
    for use in "--to-json goes with no other option" "--descriptions goes only with --rules and --output" \
        "--filter goes with traces or a session" "--rules goes with traces or a session"; do
        given=${use%% goes*}
        [ "$given" = --to-json ] || given="$given x"
        fails "$given and ${option% *}" 2 "filter: $use.*leave out ${option% *}" "$dpm" filter $given $option alpha
    done
done
fails "traces for a custom filter, and an output" 2 'filter: --filter goes with .*leave out --output' \
    "$dpm" filter --filter cat alpha -o x
fails "JSON and a session" 2 'filter: --to-json goes with no other option' "$dpm" filter --to-json --from x
fails "descriptions and a filter" 2 'filter: --descriptions goes only with --rules' "$dpm" filter --descriptions x --filter cat y
fails "nothing stored" 2 'run: --filter reads the trace: give --store newest' \
    "$dpm" run --store none --filter cat -- true

# ---- a recording ----

find_meter
if [ -z "$meter" ]; then
    skip "a recording is filtered" "$reason"
    finish
fi
tsp=$build/examples/tsp/tsp
"$dpm" run --meter "$meter" -o run.trace --report report --filter ./count_sends -- "$tsp" --cities 8 --servers 2 > out 2> err
check_equal "a recording is filtered, and the command keeps its exit status" 0 $?
check "... all of it" grep -q "the filter took [0-9]* packets with $(end_records run.trace) records" report
check_equal "... by a program that counts the same" "$(end_records run.trace) records, 0 packets missed" \
    "$(sed -n 's/^[0-9]* packets, \(.* missed\)$/\1/p' out)"
long_ones || finish # dpm waits 5 s
"$dpm" run --meter "$meter" -o stopped.trace --report report --filter "kill -STOP \$\$ # $scratch" -- sh -c 'exit 5' > out 2> err
check_equal "a filter that is stopped does not stop the command" 5 $?
check "... nor the recording" grep -q "the filter missed [0-9]* packets with $(end_records stopped.trace) records: it took nothing after" report
check "no filter is left over" sh -c "! pgrep -f '[k]ill -STOP .* # $scratch'" # other tests stop processes, too
finish
