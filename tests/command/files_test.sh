#!/bin/sh
# SPDX-License-Identifier: MIT
# files_test.sh BUILD_FOLDER: reads and writes of files: every call of a program that logs its own (use_files.c), with file,
# position and bytes; the counts of sqlite3 as strace sees them; and nothing of files unless --kinds asks for them.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
program=$1/tests/programs/use-files
cd "$scratch" || exit 1
mkdir -p deep/er

# What the records of TRACE say of the files "one" and "two" in FOLDER, in the words of the program's log.
seen() {
    "$dpm" dump --json "$1" 2> dump.err | jq -r --arg folder "$2" '
        select(.event == "READ" or .event == "WRITE" or .event == "CREATEPATH") |
        select((.local // "") | . == $folder + "/one" or . == $folder + "/two") |
        (if .event == "CREATEPATH" then "OPEN" else .event end) + " " + (.local | sub(".*/"; "")) +
        (if .event == "CREATEPATH" then "" else " \(.offset) \(.bytes)" end)'
}

# One recording of:
# - the program that logs its calls
# - a shell that opens the file of a redirection, copies the descriptor, and closes the first one before it writes
# - the program in a folder with a long name
# - a shell that inherits its file, and its child that uses it
long=$PWD/$(printf 'a%.0s' $(seq 100))/$(printf 'b%.0s' $(seq 100))
mkdir -p "$long"
printf 'some text\n' > text
cat > uses.sh << 'END'
"$1" "$PWD/deep/er" > out 2> log || exit
sh -c 'echo a > one; exec > two; echo b; echo c'
"$1" "$2" > long.out 2> long.log
read -r line
echo "$line" > copy
cat >> copy
END
for meter in kernel ptrace; do
    rm -rf log.trace deep/er/* one two copy
    "$dpm" run --meter $meter --kinds file -o log.trace -- sh uses.sh "$program" "$long" < text > out2 2> err
    check_equal "$meter: a program that uses files ends in order" 0 $?
    grep -E '^(READ|WRITE|OPEN) ' log > expected
    seen log.trace "$PWD/deep/er" > seen
    check "... it has logged its calls" test "$(wc -l < expected)" -gt 25
    check_equal "... each call is recorded, with file, position and bytes" "" "$(diff expected seen)"
    "$dpm" stats --json log.trace 2> stats.err > stats.json
    check_equal "... the statistics add them up" \
        "$(awk '$2 == "one" { if ($1 == "OPEN") o++; else if ($1 == "READ") { r++; R += $4 } else { w++; W += $4 } }
            END { print o, o, r, R, w, W }' expected)" \
        "$(jq -r --arg file "$PWD/deep/er/one" '.files[] | select(.file == $file) |
            "\(.opens) \(.closes) \(.reads.calls) \(.reads.bytes) \(.writes.calls) \(.writes.bytes)"' stats.json)"
    check_equal "... files are no connections, and no messages" "0 0" \
        "$(jq -r '"\(.trace.connections) \([.processes[].sent.messages] | add)"' stats.json)"
    check_equal "... what is no file has no record" 0 \
        "$("$dpm" dump --json log.trace 2> dump.err | jq -r '.local // "" | select(test("eventfd|null"))' | wc -l)"
    "$dpm" stats --by file --csv log.trace 2> csv.err > files.csv
    check "... CSV has a row for it" grep -q "^use-files[^,]*\[[0-9]*\],$PWD/deep/er/one,4,4," files.csv
    check "... the tables, too" sh -c "'$dpm' stats log.trace 2> /dev/null | grep -q 'deep/er/two'"
    check_equal "... the file of a redirection is one path, opened here, as long as a descriptor is its" \
        "one 1 0 1
two 1 0 2" "$("$dpm" dump --json log.trace 2> dump.err | jq -r -s --arg folder "$PWD" '
            map(select((.local // "") | . == $folder + "/one" or . == $folder + "/two")) | group_by(.local)[] |
            "\(.[0].local | sub(".*/"; "")) \(map(select(.event == "PATH")) | length) " +
            "\(map(select(.event == "PATH" and .older)) | length) \(map(select(.event == "WRITE")) | length)"')"
    check "... a name that is too long is cut at its front" sh -c "'$dpm' dump --json --type path log.trace 2> /dev/null |
        jq -r .local | grep -qE '^\.\.\.b{100}/one$|^\.\.\.a*/b{100}/one$'"
    [ $meter = ptrace ] || check_equal "... an inherited file was not opened here" "0 true" \
        "$("$dpm" dump --json log.trace 2> dump.err | jq -r -s --arg file "$PWD/text" '
            map(select(.event == "CREATEPATH" and .local == $file)) |
            "\(map(select(.older | not)) | length) \(any(.[]; .older))"')"
    [ $meter = ptrace ] || mv log.trace span.trace
done

# Every span lies within the program's life, and in the order of its calls: no two overlap.
check_equal "calls of one thread do not overlap" 0 "$("$dpm" dump --json span.trace 2> dump.err | jq -s '
    map(select(.event == "READ" or .event == "WRITE")) | group_by(.stream)[] |
    . as $calls | [range(1; length) |
        ($calls[.].time_ns - $calls[.].span_ns) as $begin | # a call that copies has a READ and a WRITE
        select($begin < $calls[. - 1].time_ns and $begin != $calls[. - 1].time_ns - $calls[. - 1].span_ns)] | length' | sort -u)"

# In a chroot, where DPM runs, too, names begin at its root.
mkdir chroot
in_chroot() {
    unshare -m sh -c 'mount --make-rprivate / && mount --rbind / chroot && exec chroot chroot "$@"' sh "$@"
}
if in_chroot true 2> err; then
    in_chroot "$dpm" run --kinds file -o "$PWD/chroot.trace" -- sh -c "echo some text > '$PWD/below'" > out 2> err
    check_equal "in a chroot that DPM runs in, names begin at its root" "$PWD/below" \
        "$("$dpm" dump --json --type write chroot.trace 2> dump.err | jq -r 'select(.local | test("below")).local')"
else
    skip "names in a chroot" "$(tail -n 1 err)"
fi

# Without the kind there is nothing of files.
"$dpm" run --flags read,write,createpath,exec -o none.trace -- "$program" "$PWD/deep/er" > out 2> err
check_equal "without --kinds file no file is recorded" 0 \
    "$("$dpm" dump --json none.trace 2> dump.err | jq -r 'select(.event == "READ" or .event == "WRITE" or
        .kind == "file") | .event' | wc -l)"
"$dpm" run --kinds pipe,file -o both.trace -- sh -c "'$program' '$PWD/deep/er' 2>&1 | cat" > out 2> err
check "files and messages are recorded together" sh -c "'$dpm' dump --json both.trace 2> /dev/null |
    jq -r .event | sort -u | tr '\n' ' ' | grep -q 'READ.*SEND.*WRITE'"

# Another witness.
if command -v strace > /dev/null && command -v sqlite3 > /dev/null; then
    sql='create table t(x); with recursive c(n) as (select 1 union all select n + 1 from c where n < 3000)
        insert into t select hex(randomblob(50)) from c; select count(*) from t;'
    "$dpm" run --kinds file --meter kernel -o sqlite.trace -- \
        strace -f -o strace.out -e trace=read,write,pread64,pwrite64 -y sqlite3 db "$sql" > out 2> err
    check_equal "sqlite3 under strace ends in order" 3000 "$(cat out)"
    # NAME(3</path>, ... = 4096
    awk -v folder="$PWD/" '{ if (match($0, /\(([0-9]+)<[^>]*>/) == 0) next
        name = substr($0, RSTART, RLENGTH); sub(/^[^<]*</, "", name); sub(/>$/, "", name)
        if (index(name, folder "db") != 1 || $NF !~ /^[0-9]+$/) next
        kind = $0 ~ /read/ ? "READ" : "WRITE"; sub(/.*\//, "", name); calls[kind " " name]++
        bytes[kind " " name] += $NF } END { for (i in calls) print i, calls[i], bytes[i] }' strace.out | sort > expected
    "$dpm" dump --json sqlite.trace 2> dump.err | jq -r --arg folder "$PWD/" '
        select(.event == "READ" or .event == "WRITE") | select(.local // "" | startswith($folder + "db")) |
        "\(.event) \(.local | sub(".*/"; "")) \(.bytes)"' |
        awk '{ calls[$1 " " $2]++; bytes[$1 " " $2] += $3 } END { for (i in calls) print i, calls[i], bytes[i] }' |
        sort > seen
    check "... it has used its files" test "$(wc -l < expected)" -ge 3
    check_equal "... as often, and as many bytes, as strace says" "" "$(diff expected seen)"
else
    skip "sqlite3's files as strace sees them" "strace or sqlite3 is not installed"
fi

finish
