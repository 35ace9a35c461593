#!/bin/sh
# SPDX-License-Identifier: MIT
# mq_test.sh BUILD_FOLDER: System V and POSIX message queues, with several types and priorities, senders and receivers
# (use_queues.c). Each receiver logs whose message it got: every edge must lead there, or, if it is ordered, one of them.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
program=$1/tests/programs/use-queues
cd "$scratch" || exit 1

# In: the records, with edges. Out: for each receiver and each of its receives, in order:
#     RECEIVER TYPE [KIND SENDER NUMBER]...
# with the types and the numbers that the log has.
cat > edges.jq << 'END'
(map(select(.event == "STREAM")) | map({key: (.stream | tostring), value: .pid}) | from_entries) as $pid |
(map(select(.event == "SEND")) | group_by(.stream) | map(sort_by(.sequence) | to_entries |
    map({key: "\(.value.stream) \(.value.sequence)", value: "\($pid[.value.stream | tostring]) \(.key)"})) | add //
    [] | from_entries) as $send |
map(select(.event == "RECEIVE")) | group_by(.stream)[] | sort_by(.sequence)[] |
"\($pid[.stream | tostring]) \(.local // "unknown" | sub(".* "; ""))" +
([.edges[]? | select(.kind == "exact" or .kind == "ordered" or .kind == "inferred") |
    " \(.kind) \($send["\(.stream) \(.sequence)"])"] | join(""))
END

# compare LOG FOUND: one word for each receive: right if the edges' kind promises what the log says.
compare() {
    awk 'NR == FNR { type[$1, ++count[$1]] = $2; from[$1, count[$1]] = $3 " " $4; all++; next }
        { k = ++at[$1]; found = 0
          for (i = 3; i < NF; i += 3) if ($(i + 1) " " $(i + 2) == from[$1, k]) found = 1
          if (type[$1, k] >= 0 && $2 != type[$1, k]) print "wrong-type"
          else if (NF < 3) print "none"
          else print (found ? "right" : "wrong") "-" $3 (NF > 5 ? "-of-several" : "") }
        END { for (i in count) if (at[i] != count[i]) print "receives-missing" }' "$1" "$2" | sort | uniq -c |
        awk '{ print $2, $1 }'
}

# Cases, each a line of `planned` and a part of one recording: NAME KIND SENDERS RECEIVERS MESSAGES. A name that begins with
# `blind` is that of receivers that do not ask for the priority: all is recorded, and no edge is certain.
cat > kernel.planned << 'END'
sysv-one sysv 1 1 300
posix-one posix 1 1 300
sysv-several sysv 3 2 300
blind-posix posix 1 1 100
full posix 3 1 300
END
cat > ptrace.planned << 'END'
sysv-one sysv 1 1 300
posix-one posix 1 1 300
posix-several posix 3 3 300
blind-posix posix 1 1 100
END
if long_ones; then
    cat > more.planned << 'END'
sysv-3-1 sysv 3 1 500
sysv-1-3 sysv 1 3 500
sysv-3-2 sysv 3 2 500
posix-4-1 posix 4 1 500
posix-3-3 posix 3 3 500
END
    cat more.planned >> kernel.planned
    cat more.planned >> ptrace.planned
else
    skip "other numbers of senders and receivers" "takes long: only with ./dev test --all"
fi

# record_queues METER: all.trace, and for each case NAME.json with edges, and the log.NAME of its receivers.
record_queues() {
    rm -rf all.trace log.*
    while read -r name kind senders receivers messages; do
        blind=
        case $name in blind*) blind="BLIND=1 " ;; esac
        echo "${blind}exec $program $kind $senders $receivers $messages log.$name" > "$name.sh"
    done < "$1.planned"
    # shellcheck disable=SC2046 # a word for each
    in_parts $(cut -d ' ' -f 1 "$1.planned") -- --meter "$1" --kinds mq --flags "all -pc" --ring 64M -o all.trace > out 2> err
    "$dpm" dump --type end all.trace > end 2> dump.err
}

# judge NAME: verdict
judge() {
    part all.trace "$1"
    # shellcheck disable=SC2086 # a word for each
    "$dpm" dump --match --json $part all.trace > "$1.json" 2> match.err
    jq -r -s -f edges.jq "$1.json" > found
    compare "log.$1" found > verdict
    sed 's/^/# /' verdict
}

for meter in kernel ptrace; do
    repeat record_queues $meter
    while read -r name kind senders receivers messages <&3; do
        judge "$name"
        check_equal "$kind, $meter, $senders senders, $receivers receivers ($name): the program ends in order" 0 "$(cat "$name.status")"
        check_equal "... all messages are there" "$((senders * messages + receivers)) $((senders * messages + receivers))" \
            "$(wc -l < "log.$name") $(wc -l < found)"
        case $name in
        blind*)
            check_equal "... with edges that are inferred, if any" "" "$(grep -vE '^(right|wrong)-inferred|^none' verdict)"
            continue ;;
        esac
        check_equal "... every edge is the true one" "" "$(grep -vE '^right-(exact|ordered)' verdict)"
        [ $((senders + receivers)) -gt 2 ] || check_equal "... and certain" "right-exact $(wc -l < "log.$name")" "$(cat verdict)"
        check_equal "... each type is a path, with two ends" "4 4" "$(jq -r -s '
            map(select(.event == "PATH" and (.kind | startswith("mq")))) |
            "\(map(select(.role == "writes" or .role == 3)) | length) \(map(select(.role == "reads" or .role == 4)) | length)"' "$name.json")"
    done 3< $meter.planned
    if [ $meter = kernel ]; then
        # The statistics show them as connections; a blocked receiver waits, a blocked sender is blocked.
        part all.trace full
        # shellcheck disable=SC2086 # a word for each
        "$dpm" stats --json $part all.trace 2> err > stats.json
        check_equal "the statistics have the kind" mq-posix "$(jq -r '.paths[] | select(.sent.messages + .received.messages > 0).kind' stats.json | sort -u)"
        check_equal "... with all messages" 901 "$(jq '[.paths[] | .sent.messages + .received.messages] | add' stats.json)"
        check "... and senders that wait for a full queue" \
            test "$(jq '[.pairs[].sender_blocked_ns.count // 0] | add' stats.json)" -gt 0
    else
        check_equal "each end of a path is closed when the metering ends" 0 "$("$dpm" dump --json all.trace | jq -r -s '
            (map(select(.event == "DESTROYPATH").path)) as $ended |
            map(select(.event == "PATH" and (.kind | startswith("mq"))).path) | . - $ended | length')"
    fi
done

# A queue that is older than the recording, with messages in it: no edge is exact.
cat > older.py << 'END'
import ctypes, sys, time
libc = ctypes.CDLL(None)
class Message(ctypes.Structure):
    _fields_ = [("type", ctypes.c_long), ("text", ctypes.c_char * 16)]
queue = int(sys.argv[1])
message = Message(1)
for i in range(20):
    libc.msgsnd(queue, ctypes.byref(message), 16, 0)
    libc.msgrcv(queue, ctypes.byref(message), 16, 0, 0)
END
queue=$(python3 -c 'import ctypes; libc = ctypes.CDLL(None); print(libc.msgget(0, 0o600))')
python3 - "$queue" << 'END'
import ctypes, sys
libc = ctypes.CDLL(None)
message = (ctypes.c_char * 24)(1)
for i in range(5):
    libc.msgsnd(int(sys.argv[1]), message, 16, 0)
END
"$dpm" run --meter kernel --kinds mq --flags send,receive -o older.trace -- python3 older.py "$queue" > out 2> err
python3 -c "import ctypes; ctypes.CDLL(None).msgctl($queue, 0, None)"
"$dpm" dump --match --json older.trace 2> dump.err > records.json
check_equal "the first receives of an older queue take what was there: no send of the recording" "5 15" \
    "$(jq -r -s 'map(select(.event == "RECEIVE")) |
        "\(map(select(.edges == null or .edges == [])) | length) \(map(select(any(.edges[]?; .kind == "inferred"))) | length)"' records.json)"

finish
