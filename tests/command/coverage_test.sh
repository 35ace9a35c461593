#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage_test.sh BUILD_FOLDER: every way to send and to receive (coverage.c) is recorded as in the program's own log:
# the same messages, with the same bytes, in the same order on each socket; and the bytes of each direction are
# contiguous.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
by=${DPM_COVERED_BY:-kernel} # the meter
[ "$by" != kernel ] || need_meter
program=$1/tests/programs/coverage-program
cd "$scratch" || exit 1

# In: the records of all programs of a recording (cut_up), each program's in a file of its own. Out: FILE TABLE LINE.
#
# records: the trace in the words of the log; the pieces of a call are one message.
# seams: where a direction's ranges do not meet: none, except where an urgent byte was skipped.
cat > records.jq << 'END'
def records:
    (map(select(.event == "PATH")) | map({(.path | tostring): .inode}) | add // {}) as $inode |
    (map(select(.event == "TERMINATION"))) as $ends |
    [.[] | select(.event == "SEND" or .event == "RECEIVE")] | sort_by(.time_ns - .span_ns) |
    reduce .[] as $record ([];
        ($record.path | tostring) as $path |
        (if $record.stream == 0 then "UNSEEN" + if $record.event == "SEND" then "_SEND" else "" end elif $record.end_of_file then "END"
         else $record.event end) as $word |
        if $record.continued then
            (map(.word == $word and .inode == $inode[$path] and .stream == $record.stream) |
                rindex(true)) as $last |
            .[$last].bytes += $record.bytes
        else
            . + [{word: $word, inode: $inode[$path], bytes: $record.bytes, stream: $record.stream}]
        end) |
    (.[] | "\(.word) \(.inode) \(.bytes)"),
    "FAILED_SEND \([$ends[].failed_sends] | add)",
    "FAILED_RECEIVE \([$ends[].failed_receives] | add)";
def seams:
    (map(select(.event == "PATH")) |
        map({(.path | tostring): {SEND: .start_out, RECEIVE: .start_in}}) | add // {}) as $start |
    [.[] | select((.event == "SEND" or .event == "RECEIVE") and .bytes > 0)] |
    group_by([.path, .event])[] |
    $start[.[0].path | tostring][.[0].event] as $begin |
    map([(.offset - $begin + 4294967296) % 4294967296, .bytes]) | sort |
    reduce .[] as $range ([0, []];
        if $range[0] == .[0] then [$range[0] + $range[1], .[1]]
        else [$range[0] + $range[1], .[1] + [$range[0] - .[0]]] end) | .[1][];
[inputs | {file: input_filename, record: .}] | group_by(.file)[] | .[0].file as $file | map(.record) |
"\($file) records \(records)", "\($file) seams \([seams] | map(tostring) | join(" "))"
END

# The same of records with edges: receives on sockets with message boundaries that do not lead to the send of the same
# rank, to it alone. In the table `exactly` also those that do not lead there exactly, and with its number.
cat > ranks.jq << 'END'
def name: "\(.stream) \(.sequence)";
def keeps_messages: .kind == "udp" or .kind == "unix-datagram" or .kind == "unix-seqpacket";
def ranks:
    ([.[] | select(.event == "SEND" and keeps_messages)] | group_by(.path) | map(sort_by(.time_ns) | to_entries) | add // [] |
        map({key: (.value | name), value: .}) | from_entries) as $sends |
    [.[] | select(.event == "RECEIVE" and keeps_messages and (.end_of_file | not))] |
    group_by(.path)[] | sort_by(.time_ns) | to_entries[] | .key as $rank | .value |
    [.edges[]? | {kind, send: $sends[name]}] as $edges |
    all($edges[]; .send.key != $rank) as $wrong |
    select($wrong or ($edges | map([.kind, .send.value.offset])) != [["exact", .offset]]) |
    {$wrong, text: "path \(.path), offset \(.offset), \(.bytes) bytes: \(.edges)"};
[inputs | {file: input_filename, record: .}] | group_by(.file)[] | .[0].file as $file | map(.record) | [ranks] |
"\($file) exactly \(map(.text) | join("; "))", "\($file) roughly \(map(select(.wrong).text) | join("; "))"
END

# into_files: standard input into the files FILE.TABLE; an ending of FILE is left out.
into_files() {
    awk '{ file = $1; sub(/\.[a-z]*$/, "", file); file = file "." $2; sub(/^[^ ]* [^ ]* /, ""); print > file }'
}

# compare NAME: whether NAME.log and NAME.records agree; prints what differs.
cat > compare.awk << 'EOF'
/^FAILED/ && side == "log" { failed[$1]++ }
/^FAILED/ && side == "records" { recorded[$1] = $2 }
/^(SEND|RECEIVE|END) / { sockets[$1 " " $2]; lines[side, $1 " " $2] = lines[side, $1 " " $2] "\n    " $0 }
# the number of unseen bytes is known, but not in how many records
/^UNSEEN/ { unseen_sockets[$1 " " $2]; unseen[side, $1 " " $2] += $3 }
function differ(what, expected, found) {
    print what ", in the log: " expected "\n" what ", in the trace: " found
    different = 1
}
END {
    for (word in sockets)
        if (lines["log", word] != lines["records", word])
            differ(word, lines["log", word], lines["records", word])
    for (word in unseen_sockets)
        if ((unseen["log", word] "") != (unseen["records", word] ""))
            differ(word, unseen["log", word], unseen["records", word])
    for (i = split("FAILED_SEND FAILED_RECEIVE", words, " "); i >= 1; i--)
        if ((recorded[words[i]] "") != (failed[words[i]] + 0 ""))
            differ(words[i], failed[words[i]] + 0, recorded[words[i]])
    exit different
}
EOF
compare() {
    awk -f compare.awk side=log "$1.log" side=records "$1.records"
}

# What the ptrace meter records differently, or not at all: io_uring, and splices out of UNIX sockets, where it records
# more than the log expects of a hook.
seen_otherwise() {
    [ "$by" = ptrace ] || return
    case $1-$2 in
    *uring-* | splice-out-unix | splice-last-* | udp-more,* | unix-splice-pieces-*) return ;;
    esac
    return 1
}

# One recording has many programs, since loading the meter takes longer than what most of them do. Each begins when the
# one before it has ended; lines of the file `planned` are NAMES KIND.
: > planned
cat > run_planned << 'END'
while read -r names kind; do
    sh -c 'echo $$ > "$0.pid"; exec "$@"' "$names-$kind" "$1" "$names" "$kind" "$names-$kind.log" \
        > "$names-$kind.out" 2> "$names-$kind.err" < /dev/null
    echo $? > "$names-$kind.status"
done < planned
END

# plan NAMES KIND: the next recording has these ways, too.
plan() {
    seen_otherwise "$1" "$2" || echo "$1 $2" >> planned
}

# cut_up TRACE ENDING TABLES [OPTION]: dumps it into a file NAMES-KIND.ENDING for each program: all from its STREAM to that
# of the next one (in order of time, which --matched leaves). What TABLES says of each is in files NAMES-KIND.TABLE.
cut_up() {
    # shellcheck disable=SC2086 # one option, or none
    "$dpm" dump --json ${4:-} "$1" 2> dump.err | jq -c -s 'sort_by(.time_ns)[]' > whole.json
    while read -r names kind; do
        read -r pid < "$names-$kind.pid"
        echo "$names-$kind.$2 $pid"
    done < planned > pieces
    jq -r 'select(.event == "STREAM") | "\(.pid) \(input_line_number)"' whole.json | awk '
        FILENAME == "-" { if (!($1 in line)) line[$1] = $2; next }
        FILENAME == "pieces" { name[line[$2]] = $1; next }
        FNR in name { piece = name[FNR] }
        piece != "" { print > piece }' - pieces whole.json
    # shellcheck disable=SC2046 # a word for each
    jq -r -n -f "$3" $(cut -d ' ' -f 1 pieces) | into_files
}

# record_planned NAME [KINDS]: NAME.trace, and for each of its programs NAMES-KIND.json, and NAMES-KIND.matched with edges.
record_planned() {
    repeat record_once "$@"
}

record_once() {
    rm -rf "$1.trace"
    while read -r names kind; do
        rm -f "$names-$kind.log"
    done < planned
    "$dpm" run --meter "$by" --kinds "${2:-all}" --ring 64M -o "$1.trace" --wait -- sh run_planned "$program" \
        > "$1.out" 2> "$1.err"
    check_equal "$1: recorded" 0 $?
    cut_up "$1.trace" json records.jq
    cut_up "$1.trace" matched ranks.jq --matched
}

# record NAME [KINDS]: ... and compares what the programs did (way).
record() {
    [ -s planned ] || return 0
    record_planned "$@"
    while read -r names kind <&3; do
        way "$names" "$kind"
    done 3< planned
    : > planned
}

# ended NAMES KIND: whether this program has ended in order.
ended() {
    name=$1-$2
    read -r status < "$name.status"
    if [ "$status" = 77 ]; then
        skip "$1, $2" "io_uring is not to be had here"
        return 1
    fi
    if [ "$status" != 0 ]; then
        fail "$1, $2: the program ends in order" "$(cat "$name.out" "$name.err")"
        return 1
    fi
}

# way NAMES KIND: compares one program with its records.
way() {
    ended "$1" "$2" || return 0
    check "$1, $2: the records are what the program did" compare "$name"
    case $by-$1-$2 in
    ptrace-urgent-* | ptrace-pipe-packets-*) return ;; # later positions are marked doubtful
    kernel-urgent-unix) return ;; # they are too low by the bytes skipped (below)
    esac
    case $2 in
    udp* | datagram | seqpacket)
        # the order is uncertain for threads of a ring, and for calls that ptrace sees; datagrams of one UDP_SEGMENT
        # send have repeated numbers
        case $by-$1-$2 in
        ptrace-* | kernel-uring-* | kernel-*udp-segments-udp) table=roughly ;;
        *) table=exactly ;;
        esac
        found="none was compared"
        read -r found < "$name.$table"
        check_equal "$1, $2: ... and each message received is the one that was sent" "" "$found"
        return ;;
    esac
    skipped=
    while read -r word _ bytes; do
        [ "$word" != SKIPPED ] || skipped="$skipped${skipped:+ }$bytes"
    done < "$name.log"
    found="none was compared"
    read -r found < "$name.seams"
    check_equal "$1, $2: ... and lie side by side" "$skipped" "$found"
}

for kind in tcp unix; do
    for names in calls,empty,peek,wait-all,half-closed,would-block,splice-in,vmsplice-tee,sendfile,passed,passed-many \
        splice-out wait-any wait-new; do
        plan $names "$kind"
    done
    plan uring-plain,uring-poll $kind
    plan uring-async $kind
    plan uring-sqpoll $kind
done
for name in splice-bulk map-received zero-copy urgent urgent-in-line discard low-water fast-open \
    uring-splice; do
    plan "$name" tcp
done
for kind in pipe fifo; do
    for names in pipe-calls pipe-splice pipe-would-block pipe-blocked; do
        plan $names $kind
    done
done
plan pipe-packets pipe
plan wait-time tcp
for name in short-many abstract urgent urgent-in-line; do
    plan "$name" unix
done
record streams
# What statistics say of these is tested, too; and kinds of sockets that are not recorded.
plan other-sockets unix
plan splice-last unix
plan pipe-uring pipe
record rest

# Sockets with message boundaries: many ways of each kind in one run. Several messages of one call, or one of several
# calls, differ with the ptrace meter (below).
everywhere=calls,would-block,message-empty,message-peek,message-cut,message-splice,message-splice-out
rings=uring-plain,uring-poll,uring-async,uring-sqpoll
for kind in udp udp6; do
    plan $everywhere,udp-zero-copy,udp-refused $kind
    plan udp-more,udp-splice-pieces,udp-segments $kind
    [ $kind = udp6 ] && ! long_ones || plan $rings $kind
done
for kind in datagram seqpacket; do
    plan $everywhere $kind
    plan unix-splice-pieces $kind
    plan $rings $kind
done
plan half-closed,passed,passed-many seqpacket

plan mptcp-refused tcp

kinds='tcp unix udp'
! long_ones || kinds='tcp unix udp udp6 datagram seqpacket'
for kind in $kinds; do
    plan ask-nothing $kind
done
for kind in pipe fifo; do
    plan pipe-ask-nothing $kind
done
record messages

# Kinds of sockets that are not recorded: no path, no message, no failed call; a wait for them is a BLOCK.
if ended other-sockets unix; then
    others=$(sed -n 's/^OTHER //p' other-sockets-unix.log | xargs)
    echo "# other sockets here: $others"
    check "there are other sockets: netlink at least" test "${others%% *}" = netlink
    # (the pair that each of the program's ways gets is not used by this one)
    check_equal "of $others nothing is recorded, and nothing has failed" "0 0 0" "$(jq -r -s '
        ([.[] | select(.unused).path]) as $pair | "\([.[].path | select(. != null and (IN($pair[]) | not))] | length) " +
        (map(select(.event == "TERMINATION"))[0] | "\(.failed_sends) \(.failed_receives)")' other-sockets-unix.json)"
    if [ "$others" = netlink ]; then
        check_not "... of netlink alone nothing is said" grep -q '^Messages on sockets of' rest.err
    else
        check "... which kinds these are is said" grep -q '^Messages on sockets of these kinds are not recorded, by any meter: .*netlink' rest.err
    fi
    check_equal "... and there is no other complaint" "" "$(grep -v '^Messages on sockets of these kinds are not' rest.err | grep -i -E 'lost|error|missing|not known' |
        grep -v ' 0 lost' | grep -v -E 'not known how much|not known, and nothing of io_uring|P may be too high: edges are missing')"
    [ "$by" != kernel ] || check "... a wait for one is a BLOCK" test "$(echo "$others" | wc -w)" -le \
        "$(jq -s '[.[] | select(.event == "BLOCK" and .system_call == 45)] | length' other-sockets-unix.json)"
fi

# sends NAMES KIND PATTERN: the bytes of each SEND on paths of these kinds, as recorded, and the number of exact edges.
sends() {
    jq -r -s --arg kinds "$3" '
        [.[] | select(.event == "SEND" or .event == "RECEIVE") | select(.kind | test($kinds))] |
        "\([.[] | select(.event == "SEND").bytes]) \([.[].edges[]? | select(.kind == "exact")] | length)"' "$1-$2.matched"
}
if [ "$by" = ptrace ]; then
    for kind in udp udp6; do
        echo udp-more,udp-splice-pieces,udp-segments $kind
    done > planned
    for kind in datagram seqpacket; do
        echo unix-splice-pieces $kind
    done >> planned
    record_planned otherwise
    for kind in udp udp6; do
        ended udp-more,udp-splice-pieces,udp-segments $kind || continue
        check_equal "$kind: each call that adds to a datagram is a SEND, and what one call cuts is one; nothing is exact" \
            "[40,7,60,40,7,60,9,30,50,10,40,170,1000,1000,200,1000,1000,200,1000] 0" \
            "$(sends udp-more,udp-splice-pieces,udp-segments $kind udp)"
    done
    for kind in datagram seqpacket; do
        ended unix-splice-pieces $kind || continue
        check_equal "$kind: what one splice sends as several messages is one SEND; nothing is exact" "[320] 0" \
            "$(sends unix-splice-pieces $kind unix)"
    done
    finish
fi

# Further checks of some of them.
check_equal "a NUL inside an abstract name is shown as @" "@dpm@tail" "$(jq -r 'select(.event ==
    "PATH" and .unix_name != "") | .unix_name' abstract-unix.json | sed 's/[0-9]//g' | sort -u)"
check_equal "a splice that waits has its RECEIVECALL, one that does not says so" "2 4" "$(jq -r -s '
    map(select(.event == "RECEIVECALL" and .pid != null)) as $waits |
    "\([$waits[] | select(.bytes == 0)] | length) \([.[] | select(.event == "RECEIVE" and
    .call_implied and (.bytes == 100 or .bytes == 30))] | length)"' splice-out-tcp.json)"
# waits NAME: the records of the first process have the waits that it logged: a RECEIVECALL without a path, and the
# BLOCKs of its calls.
waits() {
    calls=$(sed -n 's/^BLOCK //p' "$1.log" | sort -u | paste -sd , -)
    jq -r -s --argjson calls "[$calls]" 'map(select(.event == "STREAM"))[0].stream as $stream |
        .[] | select(.stream == $stream) |
        if .event == "RECEIVECALL" and .path == 0 then "WAIT \(.offset)"
        elif .event == "BLOCK" and .state % 2 == 1 and ([.system_call] | inside($calls)) then
            "BLOCK \(.system_call)" else empty end' "$1.json" > "$1.waits"
    grep -E '^(WAIT|BLOCK)' "$1.log" > "$1.logged" && diff "$1.logged" "$1.waits"
}
for kind in tcp unix; do
    check_equal "a wait for any of several sockets, $kind: all seven calls are tried" "7 7" \
        "$(grep -c ^WAIT wait-any-$kind.log) $(grep -c ^BLOCK wait-any-$kind.log)"
    check "... each is a RECEIVECALL without a path, and a wait for a child a BLOCK" waits wait-any-$kind
    check "... so is one for a new connection, of both calls" waits wait-new-$kind
    check_equal "... what is received then has not waited" "7 2" "$(for name in any new; do
        jq -s 'map(select(.event == "RECEIVE" and .call_implied)) | length' wait-$name-$kind.json
    done | xargs)"
done
check "a call that only lets time pass is a BLOCK" waits wait-time-tcp
check_equal "each wait for a child leads back to its end" "9 9" "$(for name in wait-any-tcp wait-new-tcp; do
    cat $name.matched
done | jq -r -s 'map(select(.event == "BLOCK" and .system_call == 247)) |
    "\(length) \(map(select([.edges[]?.kind] | index("termination"))) | length)"')"
check_equal "the urgent byte stands at its place: the last but two" 0 "$(jq -r -s '
    (map(select(.event == "SEND" and .bytes == 1))[1].offset) -
    (map(select(.event == "RECEIVE" and .bytes == 1))[0].offset)' urgent-tcp.json)"
check_equal "a UNIX socket's: where it is taken, and what comes after a skipped one stands one too low" "0 3 5 6 9" \
    "$(jq -r -s '[.[] | select(.event == "RECEIVE").offset] | join(" ")' urgent-unix.json)"
check_equal "what UDP_SEGMENT cuts: one SEND, a record for each datagram; UDP_GRO receives them so" \
    "300 300 300 100, 300 300 300 100" "$(jq -r -s 'def pieces($first):
        "\($first.bytes) \([.[] | select(.continued)][0:3] | map(.bytes) | join(" "))";
        [.[] | select(.kind == "udp")] | [
        ([.[] | select(.event == "SEND")] | index(map(select(.continued))[0]) as $second | .[$second - 1:]
            | pieces(.[0])),
        ([.[] | select(.event == "RECEIVE")] | index(map(select(.continued))[0]) as $second | .[$second - 1:]
            | pieces(.[0]))] | join(", ")' udp-more,udp-splice-pieces,udp-segments-udp.json)"
check_equal "a write that waits for room began after the one before it has ended" "true true" "$(jq -r -s '
    [.[] | select(.event == "SEND" and .bytes == 1048576)] as $sends |
    [.[] | select(.event == "SENDCALL" and .time_ns > $sends[0].time_ns) | .time_ns - .span_ns] |
    "\(length > 2) \(all(. > $sends[0].time_ns))"' pipe-blocked-pipe.json)"
# stats_of NAMES KIND: what the statistics say of a program of the recording `rest`, and of no other.
stats_of() {
    begin=$("$dpm" dump --json --type machine rest.trace | jq -s '.[0].time_ns')
    # shellcheck disable=SC2046 # two options
    "$dpm" stats --json $(jq -r -s --argjson begin "$begin" 'map(.time_ns) |
        "--from \((min - $begin) / 1000 | floor)us --to \((max - $begin) / 1000 + 1 | floor)us"' "$1-$2.json") rest.trace
}
check_equal "bytes taken unseen are in the statistics" 500 "$(stats_of splice-last unix | jq .trace.unseen_bytes)"
# has_ended NAMES-KIND: whether it was recorded, and io_uring was to be had
has_ended() {
    [ -s "$1.json" ] && [ "$(cat "$1.status")" = 0 ]
}
if has_ended pipe-uring-pipe; then
    check_equal "what requests wrote into pipes, and read, is in the statistics" "3000 3000" \
        "$(stats_of pipe-uring pipe | jq -r '.trace | "\(.unseen_sent_bytes) \(.unseen_bytes)"')"
    check "... and in the report" sh -c "'$dpm' stats rest.trace | grep -q 'written into pipes unseen'"
    check_equal "... no RECEIVE has an edge from a SEND of no stream" 0 "$(jq -s '[.[].edges[]? | select(.stream == 0)] | length' pipe-uring-pipe.matched)"
fi
if has_ended uring-async-tcp; then
    check_equal "io_uring's threads are threads of the process, and they end" "true true true" \
        "$(jq -r -s '
        map(select(.event == "STREAM" and (.name | startswith("iou-wrk")))) as $threads |
        map(select(.event == "TERMINATION").stream) as $ended |
        map(select(.event == "STREAM"))[0].stream as $program |
        [$threads != [], ($threads | all(.process == $program)),
            ($threads | map(.stream) - $ended == [])] | join(" ")' uring-async-tcp.json)"
    check_equal "... also the one that polls for requests" 1 "$(jq -r -s '[.[] | select(.event ==
        "TERMINATION" and (.name | startswith("iou-sqp")))] | length' uring-sqpoll-tcp.json)"
fi
finish
