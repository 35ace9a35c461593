#!/bin/sh
# SPDX-License-Identifier: MIT
# truth_compare_test.sh BUILD_FOLDER: truth-compare finds a small dump and its logs equal, and reports every kind of
# difference that is planted into the dump or a log.
#
#   tid 100 (launched, so its creator is not metered): sends on a TCP path in two pieces, receives
#           to the end of file, makes thread 101, is stopped and continued, executes, ends
#   tid 101: three messages on a datagram path, one of them received
#   tid 100 once more, later: a new stream with the same tid
set -u
here=$(cd "$(dirname "$0")" && pwd)
compare=${1:?usage: truth_compare_test.sh BUILD_FOLDER}/tests/truth/truth-compare
# shellcheck source=tests/command/tap.sh
. "$here/tap.sh"

[ -x "$compare" ] || skip_all "$compare is not built"

dump=$scratch/dump
logs=$scratch/logs

# record EVENT STREAM SEQUENCE TIME MORE: a record of a stream.
record() {
    tid=100
    [ "$2" != 2 ] || tid=101
    printf '{"time":"x","time_ns":%s,"event":"%s","machine":"host","pid":100,"tid":%s,' \
        "$4" "$1" "$tid"
    printf '"stream":%s,"name":"t","sequence":%s,"cpu_ns":%s000%s}\n' "$2" "$3" "$4" "${5:+,$5}"
}

# message PATH KIND INODE OFFSET BYTES: the additional fields of SEND and RECEIVE.
message() {
    printf '"path":%s,"kind":"%s","inode":%s,"local":"a","remote":"b","offset":%s,' \
        "$1" "$2" "$3" "$4"
    printf '"bytes":%s,"span_ns":0%s' "$5" "${6:+,$6}"
}

identities() {
    echo '{"event":"MACHINE","time_ns":1,"machine":"host"}'
    echo '{"event":"STREAM","time_ns":1,"stream":1,"pid":100,"tid":100,"process":1,"parent":0,"name":"t"}'
    echo '{"event":"STREAM","time_ns":1,"stream":2,"pid":100,"tid":101,"process":1,"parent":1,"name":"t"}'
    echo '{"event":"STREAM","time_ns":1,"stream":3,"pid":100,"tid":100,"process":3,"parent":2,"name":"t"}'
    # The offsets of the TCP path wrap around in the middle of the first SEND.
    echo '{"event":"PATH","time_ns":2,"path":4,"kind":"tcp","inode":9,"cookie":1,"peer":0,"start_out":4294967246,"start_in":70}'
    echo '{"event":"PATH","time_ns":2,"path":5,"kind":"unix-datagram","inode":8,"cookie":2,"peer":0,"start_out":0,"start_in":3}'
}

new_dump() {
    {
        identities
        record STARTPROCESS 1 0 10
        record EXEC 1 1 11 '"image":"/bin/t"'
        record SEND 1 2 12 "$(message 4 tcp 9 4294967246 100)"
        record SENDCALL 1 3 13 "$(message 4 tcp 9 50 0)"
        record SEND 1 4 14 "$(message 4 tcp 9 50 20 '"continued":true')"
        record RECEIVE 1 5 15 "$(message 4 tcp 9 70 30)"
        record RECEIVE 1 6 16 "$(message 4 tcp 9 100 7)"
        record SEND 1 7 17 "$(message 4 tcp 9 70 5)"
        record RECEIVE 1 8 18 "$(message 4 tcp 9 107 0)"
        record CREATEPROCESS 1 9 19 '"child":2,"child_pid":100,"child_tid":101,"thread":true'
        record STARTPROCESS 2 0 20
        record SEND 2 1 21 "$(message 5 unix-datagram 8 0 10)"
        record SEND 2 2 22 "$(message 5 unix-datagram 8 1 0)"
        record RECEIVE 2 3 23 "$(message 5 unix-datagram 8 3 0)"
        record SEND 2 4 24 "$(message 5 unix-datagram 8 2 12)"
        record TERMINATION 2 5 25 '"status":0,"last":0,"failed_sends":2,"failed_receives":1'
        record STOPPROCESS 1 10 26
        record STARTPROCESS 1 11 27
        record EXEC 1 12 28 '"image":"/bin/other"'
        record TERMINATION 1 13 29 '"status":256,"last":1,"failed_sends":0,"failed_receives":0'
        record STARTPROCESS 3 4294967295 40
        record BLOCK 3 0 41 '"system_call":1,"state":1,"duration_ns":2'
        record TERMINATION 3 1 42 '"status":9,"last":1,"failed_sends":0,"failed_receives":0'
        echo '{"event":"END","time_ns":50}'
    } > "$dump"
}

new_logs() {
    rm -rf "$logs"
    mkdir "$logs"
    cat > "$logs/100-1000.log" << 'END'
SEND 9 120 send 11000 14000
RECEIVE 9 30 recv 15000 15000 [101:0:30]
RECEIVE 9 7 recvmmsg 15000 16000 [101:?:7]
SEND 9 5 write 17000 17000
RECEIVE 9 0 read 18000 18000 [eof]
CREATEPROCESS 101 thread
STOPPROCESS
STARTPROCESS
EXEC /bin/other
TERMINATION 256
END
    cat > "$logs/101-2000.log" << 'END'
SEND 8 10 sendto 21000 21000
SEND 8 0 sendmsg 22000 22000
RECEIVE 8 0 recvfrom 23000 23000 []
SEND 8 12 sendmmsg 24000 24000
FAILED SEND 1
FAILED SEND 1
FAILED RECEIVE 1
TERMINATION 0
END
    echo 'TERMINATION 9' > "$logs/100-3000.log"
}

renew() {
    new_dump
    new_logs
}

options=
run() {
    # shellcheck disable=SC2086 # one word for each option
    "$compare" $options "$dump" "$logs" > "$scratch/output" 2> "$scratch/errors"
    status=$?
}

# change FILE SED-SCRIPT: plants something, and verifies that the file changed.
change() {
    sed -e "$2" "$1" > "$scratch/changed"
    ! cmp -s "$1" "$scratch/changed" || fail "nothing was planted by $2"
    mv "$scratch/changed" "$1"
}

# is_equal NAME: the present files are found equal.
is_equal() {
    run
    check_equal "$1" "0 equal" "$status $(tail -n 1 "$scratch/output")"
    renew
}

# finds NAME WORDS: a difference is found, and one line about it has these words.
finds() {
    run
    if [ "$status" = 1 ] && grep '^difference: ' "$scratch/output" | grep -qF "$2"; then
        pass "finds $1"
    else
        fail "finds $1" "$(echo "status $status, expected: $2"; cat "$scratch/output" "$scratch/errors")"
    fi
    renew
}

# refuses NAME WORDS: the files cannot be read, and the error has these words.
refuses() {
    run
    if [ "$status" = 2 ] && grep -qF "$2" "$scratch/errors"; then
        pass "refuses $1"
    else
        fail "refuses $1" "$(echo "status $status, expected: $2"; cat "$scratch/output" "$scratch/errors")"
    fi
    renew
}

# Records of the dump, by their time.
at() { echo "/\"time_ns\":$1,/"; }

# Moves the sequence numbers of stream 1 from this time on by this much.
renumber() { # FROM BY
    awk -v from="$1" -v by="$2" '
        match($0, /"time_ns":[0-9]+/) { time = substr($0, RSTART + 10, RLENGTH - 10) }
        /"stream":1,/ && time + 0 >= from && match($0, /"sequence":[0-9]+/) {
            $0 = substr($0, 1, RSTART + 10) substr($0, RSTART + 11, RLENGTH - 11) + by \
                substr($0, RSTART + RLENGTH)
        }
        { print }' "$dump" > "$scratch/changed"
    mv "$scratch/changed" "$dump"
}

renew
is_equal "what is equal is found equal"

run
check_equal "the table counts calls and pieces" "tcp SEND send 1 120 2" \
    "$(awk '$2 == "SEND" && $3 == "send" { $1 = $1; print }' "$scratch/output")"

change "$dump" "$(at 15)d"
renumber 16 -1
finds "a RECEIVE that is missing" "operation 2: missing in the dump"

long_ones || finish # the rest tests what tests

# ---- optional records ----
change "$dump" "$(at 10)d"
renumber 11 -1
is_equal "a stream's first STARTPROCESS need not be there"

change "$dump" "$(at 11)d"
renumber 12 -1
is_equal "nor the EXEC that launched the first stream"

change "$dump" 's/"event":"STREAM",\("time_ns":1,"stream":2\)/"event":"STREAM","sequence":0,\1/'
is_equal "an identity may repeat the number of the record that follows"

change "$dump" 's/"event":"STREAM",\("time_ns":1,"stream":1\)/"event":"STREAM","sequence":0,\1/'
renumber 10 1
is_equal "an identity may have a number of its own"

# ---- operations ----
change "$dump" "$(at 25)d"
finds "a TERMINATION that is missing" "operation 5: missing in the dump"

change "$dump" "$(at 17){p;s/\"time_ns\":17/\"time_ns\":170/;}"
change "$dump" "s/\"time_ns\":170,/\"time_ns\":17,/"
renumber 18 1
change "$dump" '/"time_ns":17,/{n;s/"sequence":7/"sequence":8/;}'
finds "a SEND that is there twice" "operation 5: more in the dump than in the log"

change "$dump" '/"time_ns":15,/s/"offset":70,"bytes":30/"offset":70,"bytes":7/'
change "$dump" '/"time_ns":16,/s/"offset":100,"bytes":7/"offset":77,"bytes":30/'
finds "another order" "operation 2: in another order in the dump"

change "$dump" '/"time_ns":14,/s/"bytes":20/"bytes":21/'
finds "other bytes" "operation 1: another number of bytes"

change "$dump" 's/"inode":8/"inode":7/'
finds "another socket" "operation 1: another socket"

change "$dump" '/"time_ns":21,/s/"inode":8/"inode":7/'
finds "an inode that is not the path's" "path 5 has another inode in its PATH"

change "$dump" '/"event":"PATH","time_ns":2,"path":5/d'
finds "a path without identity" "path 5 has no PATH record"

change "$dump" 's/"child_tid":101/"child_tid":102/'
finds "another child" "operation 6: another child"

change "$dump" 's/"thread":true/"thread":false/'
finds "a thread taken for a process" "operation 6: thread and process confused"

change "$dump" 's|/bin/other|/bin/another|'
finds "another image" "operation 9: another image"

change "$dump" 's/"status":256/"status":1/'
finds "another exit status" "operation 10: another status"

change "$dump" 's/"event":"STOPPROCESS"/"event":"BLOCK"/'
finds "a stop that is missing" "operation 7: missing in the dump"

change "$dump" 's/"failed_sends":2/"failed_sends":1/'
finds "another number of failed sends" "1 failed sends and 1 failed receives, in the log 2 and 1"

change "$dump" 's/"failed_receives":1/"failed_receives":2/'
finds "another number of failed receives" "2 failed sends and 2 failed receives, in the log 2 and 1"

change "$dump" 's/"tid":101,/"tid":102,/'
finds "a stream that is missing" "101-2000.log: this stream is missing in the dump"

rm "$logs/101-2000.log"
finds "a stream without log" "stream 2 (tid 101, t): there is no log of this stream"

mv "$logs/100-3000.log" "$logs/100-500.log"
finds "two streams of one tid in another order" "stream 1 (tid 100, t): operation 1: another event"

change "$dump" '/"stream":1,/{/"parent":0/s/"parent":0/"parent":3/;}'
finds "an EXEC that was not logged" "operation 1: more in the dump than in the log"

# ---- pieces ----
change "$dump" 's/,"continued":true//'
finds "a piece that does not say so" "operation 1: another number of bytes"

change "$dump" '/"time_ns":17,/s/"span_ns":0/"span_ns":0,"continued":true/'
finds "a piece of a call that has ended" "continues a call that it does not follow"

# ---- CPU time ----
change "$dump" '/"time_ns":16,/s/"cpu_ns":16000/"cpu_ns":4900000/'
is_equal "CPU time may be 5 ms late"

change "$dump" '/"time_ns":16,/s/"cpu_ns":16000/"cpu_ns":5016001/'
finds "CPU time that is more than 5 ms late" "CPU time is 5.000 ms outside the call's own"

change "$logs/100-1000.log" 's/^SEND 9 120 send 11000 14000/SEND 9 120 send 5012001 5014000/'
finds "CPU time that is more than 5 ms early" "CPU time is 5.000 ms outside the call's own"

# ---- sequence and time ----
renumber 16 1
finds "a gap in the sequence" "gaps in the sequence of 1 records (the first before line 13), but 0"

renumber 16 -1
finds "a number used twice" "sequence number 5 twice"

# LOST has the number of the record after the gap.
renumber 16 2
lost='{"event":"LOST","time_ns":16,"stream":1,"sequence":8,"count":2,"ring":1}'
change "$dump" "/\"time_ns\":16,/i\\
$lost"
is_equal "a gap that LOST accounts for"

renumber 16 3
change "$dump" "/\"time_ns\":16,/i\\
$lost"
change "$dump" '/"event":"LOST"/s/"sequence":8/"sequence":9/'
finds "a gap that is larger than LOST says" "gaps in the sequence of 3 records"

change "$dump" "/\"time_ns\":50/i\\
{\"event\":\"LOST\",\"time_ns\":49,\"count\":2,\"ring\":0}"
finds "losses that no gap shows" "gaps in the sequences of 0 records, but 2"

change "$dump" '/"time_ns":22,/s/"time_ns":22/"time_ns":20/'
finds "time that goes back" "time goes back by 1 ns from line 18 to line 19"

# ---- offsets ----
change "$dump" '/"time_ns":16,/s/"offset":100/"offset":101/'
finds "a gap of a path's bytes" "RECEIVE: a gap: offset 101 in line 13, expected 100"

change "$dump" '/"time_ns":16,/s/"offset":100/"offset":99/'
finds "an overlap of a path's bytes" "RECEIVE: an overlap: offset 99 in line 13, expected 100"

change "$dump" '/"time_ns":17,/s/"offset":70/"offset":49/'
finds "bytes that a stream sent in another order" "SEND offsets go back within stream 1"

change "$dump" 's/"start_in":70/"start_in":69/'
finds "bytes that do not begin at the path's start" "RECEIVE: a gap: offset 70 in line 12, expected 69"

change "$dump" '/"time_ns":18,/s/"offset":107/"offset":108/'
finds "an end of file that is not at the end" "the end of file is not where the data end"

change "$dump" '/"time_ns":24,/s/"offset":2/"offset":3/'
finds "a gap of a path's messages" "SEND: a gap: offset 3 in line 21, expected 2"

change "$dump" '/"time_ns":22,/s/"offset":1/"offset":0/'
finds "a message number used twice" "SEND: an overlap: offset 0 in line 18, expected 1"

change "$logs/101-2000.log" 's/23000 \[\]/23000 [eof]/'
is_equal "an end of file of messages takes no number"

# ---- UDP: a datagram has one number at both ends ----

# udp: additionally, stream 2 sends two datagrams and receives them.
udp() {
    sed '/"time_ns":25,/,$d' "$dump" > "$scratch/head"
    sed -n '/"time_ns":25,/,$p' "$dump" | sed 's/"time_ns":25,\(.*\)"sequence":5,/"time_ns":37,\1"sequence":9,/' \
        > "$scratch/tail"
    {
        cat "$scratch/head"
        echo '{"event":"PATH","time_ns":30,"path":6,"kind":"udp","inode":20,"local":"a:1","remote":"b:2","start_out":0,"start_in":0}'
        echo '{"event":"PATH","time_ns":30,"path":7,"kind":"udp","inode":21,"local":"b:2","remote":"a:1","start_out":0,"start_in":0}'
        record SEND 2 5 31 "$(message 6 udp 20 500 16)"
        record SEND 2 6 32 "$(message 6 udp 20 700 3)"
        record RECEIVE 2 7 33 "$(message 7 udp 21 500 9)"
        record RECEIVE 2 8 34 "$(message 7 udp 21 700 3)"
        sed -n 1p "$scratch/tail"
        sed 1d "$scratch/tail" | sed 's/"time_ns":2\([6-9]\),/"time_ns":4\1,/; s/"time_ns":4\([012]\),/"time_ns":5\1,/'
    } > "$dump"
    sed -i '/^FAILED/,$d' "$logs/101-2000.log"
    cat >> "$logs/101-2000.log" << 'END'
SEND 20 16 send 31000 31000
SEND 20 3 send 32000 32000
RECEIVE 21 9 recv 33000 33000 [101:0:9]
RECEIVE 21 3 recv 34000 34000 [101:?:3]
FAILED SEND 2
FAILED RECEIVE 1
TERMINATION 0
END
}

udp
is_equal "UDP with equal numbers at both ends"
udp
change "$dump" '/"time_ns":33,/s/"offset":500/"offset":501/'
finds "a datagram received with another number" "a RECEIVE with offset 501, but its SEND in line"
udp
change "$dump" '/"time_ns":34,/s/"offset":700/"offset":500/; /"time_ns":33,/s/"offset":500/"offset":700/'
finds "two datagrams received in each other's place" "a RECEIVE with offset 700, but its SEND in line"
udp
change "$dump" '/"time_ns":34,/s/"offset":700/"offset":701/'
finds "a short one received with a number that was not sent" "whose SEND is not on the other end's path"
udp
change "$dump" 's/"local":"b:2","remote":"a:1"/"local":"b:3","remote":"a:1"/'
finds "a datagram whose sender is at another address" "whose SEND is not on the other end's path"
udp
change "$logs/101-2000.log" 's/\[101:0:9\]/[101:16:9]/'
finds "another datagram than the log says" "whose SEND is not on the other end's path"

# ---- an old UNIX stream that several send over ----

# shared OLDER OFFSET...: additionally, streams 2 and 3 send two messages of 10 bytes each.
shared() {
    sed -i 's/"time_ns":41,\(.*\)"event":"BLOCK"/"time_ns":41,\1"event":"BLOCK"/' "$dump"
    sed '/"time_ns":25,/,$d' "$dump" > "$scratch/head"
    sed -n '/"time_ns":25,/,$p' "$dump" | sed 's/"time_ns":25,\(.*\)"sequence":5,/"time_ns":37,\1"sequence":7,/
        s/"time_ns":42,\(.*\)"sequence":1,/"time_ns":45,\1"sequence":3,/' > "$scratch/tail"
    {
        cat "$scratch/head"
        echo '{"event":"PATH","time_ns":30,"path":8,"kind":"unix-stream","inode":30,"start_out":100,"start_in":0'"$1}"
        record SEND 2 5 31 "$(message 8 unix-stream 30 "$2" 10)"
        record SEND 2 6 32 "$(message 8 unix-stream 30 "$3" 10)"
        sed '/"time_ns":45,/,$d' "$scratch/tail"
        record SEND 3 1 43 "$(message 8 unix-stream 30 "$4" 10)"
        record SEND 3 2 44 "$(message 8 unix-stream 30 "$5" 10)"
        sed -n '/"time_ns":45,/,$p' "$scratch/tail"
    } > "$dump"
    sed -i '/^FAILED/,$d' "$logs/101-2000.log"
    printf '%s\n' 'SEND 30 10 send 31000 31000' 'SEND 30 10 send 32000 32000' 'FAILED SEND 2' \
        'FAILED RECEIVE 1' 'TERMINATION 0' >> "$logs/101-2000.log"
    printf '%s\n' 'SEND 30 10 send 43000 43000' 'SEND 30 10 send 44000 44000' 'TERMINATION 9' \
        > "$logs/100-3000.log"
}

shared "" 100 110 120 130
is_equal "a UNIX stream that two send over"
shared "" 100 110 115 125
finds "a place that two have sent to" "an overlap: offset 115"
shared ',"older":true' 100 110 115 125
is_equal "... of an old one it is mended"
shared ',"older":true' 100 115 120 128
finds "... but not again and again" "an overlap: offset"

# ---- pipes, and edges ----

# edge KIND STREAM SEQUENCE BYTES EVENT
edge() {
    printf '{"kind":"%s","origin":0,"stream":%s,"sequence":%s,"event":"%s","bytes":%s}' \
        "$1" "$2" "$3" "${5:-SEND}" "$4"
}

# edges LIST...: the edges of a RECEIVE.
edges() {
    printf '"edges":['
    first=1
    for each; do
        [ "$first" ] || printf ','
        first=
        printf '%s' "$each"
    done
    printf ']'
}

# one_end PATH KIND ROLE COOKIE PEER: of a pipe or FIFO, both with inode 20.
one_end() {
    printf '{"event":"PATH","time_ns":30,"path":%s,"kind":"%s","inode":20,"role":%s,"cookie":%s,' \
        "$1" "$2" "$3" "$4"
    printf '"peer":%s,"start_out":0,"start_in":0}\n' "$5"
}

# pipes: additionally, stream 2 writes 100 and 60 bytes into a pipe that stream 3 reads, the second time while the write
# is in progress; and streams 2 and 3 write into a FIFO at the same time, which stream 3 reads. In causal order.
# Messages of others to stream 1 are left out.
pipes() {
    change "$dump" "$(at '1[568]')d"
    renumber 17 -2
    renumber 19 -1
    change "$logs/100-1000.log" '/^RECEIVE/d'
    sed '/"time_ns":25,/,$d' "$dump" > "$scratch/head"
    sed -n '/"time_ns":25,/,$p' "$dump" | sed '
        s/"time_ns":25,\(.*\)"sequence":5,/"time_ns":58,\1"sequence":9,/
        s/"time_ns":42,\(.*\)"sequence":1,/"time_ns":59,\1"sequence":8,/' > "$scratch/tail"
    {
        cat "$scratch/head"
        one_end 6 pipe 3 60 70
        one_end 7 pipe 4 70 60
        one_end 8 fifo 3 80 90
        one_end 9 fifo 4 90 80
        record SEND 2 5 31 "$(message 6 pipe 20 0 100)"
        record SENDCALL 2 6 32 "$(message 6 pipe 20 100 0)"
        sed -n '/"time_ns":4[01],/p' "$scratch/tail"
        record RECEIVE 3 1 43 "$(message 7 pipe 20 0 70 "$(edges "$(edge exact 2 5 70)")")"
        record RECEIVE 3 2 44 "$(message 7 pipe 20 70 50 \
            "$(edges "$(edge exact 2 5 30)" "$(edge exact 2 6 20 SENDCALL)")")"
        record SEND 2 7 33 "$(message 6 pipe 20 100 60)"
        record SEND 2 8 46 "$(message 8 fifo 20 0 20)"
        record RECEIVE 3 3 45 "$(message 7 pipe 20 120 40 "$(edges "$(edge exact 2 7 40)")")"
        record RECEIVE 3 4 46 "$(message 7 pipe 20 160 0 '"end_of_file":true')"
        record SEND 3 5 47 "$(message 8 fifo 20 20 30)"
        record RECEIVE 3 6 48 "$(message 9 fifo 20 0 25 \
            "$(edges "$(edge ordered 2 8 20)" "$(edge ordered 3 5 25)")")"
        record RECEIVE 3 7 49 "$(message 9 fifo 20 25 25 \
            "$(edges "$(edge ordered 2 8 20)" "$(edge ordered 3 5 25)")")"
        sed '/"time_ns":4[01],/d' "$scratch/tail"
    } > "$dump"
    sed -i '/^FAILED/,$d' "$logs/101-2000.log"
    cat >> "$logs/101-2000.log" << 'END'
SEND pipe:20 100 write 31000 31000
SEND pipe:20 60 vmsplice 32000 33000
SEND fifo:20 20 pwritev2 46000 46000
FAILED SEND 1
FAILED SEND 1 pipe
FAILED RECEIVE 1
TERMINATION 0
END
    cat > "$logs/100-3000.log" << 'END'
RECEIVE pipe:20 70 read 43000 43000 [101:0:70]
RECEIVE pipe:20 50 splice 44000 44000 [101:70:50]
RECEIVE pipe:20 40 readv 45000 45000 [101:120:40]
RECEIVE pipe:20 0 read 46000 46000 [eof]
SEND fifo:20 30 tee 47000 47000
RECEIVE fifo:20 25 read 48000 48000 [101:0:20,100:0:5]
RECEIVE fifo:20 25 preadv2 49000 49000 [100:5:25]
TERMINATION 9
END
}

pipes
is_equal "pipes, and edges that are right"
pipes
run
check_equal "... which are counted" "4 exact, 4 ordered and 0 inferred edges of 7 RECEIVEs" \
    "$(sed -n 's/ are right, but.*//p' "$scratch/output")"
check_equal "... also those of the pipe, which had to be exact" "4 edges had to be exact, and are" \
    "$(grep 'had to be exact' "$scratch/output")"
renew

# plant SED-SCRIPT NAME WORDS: into the dump with pipes.
plant() {
    pipes
    change "$dump" "$1"
    finds "$2" "$3"
}

plant '/"path":7,/s/"inode":20/"inode":21/' "another pipe" "another pipe"
plant 's/"kind":"fifo"/"kind":"pipe"/' "a FIFO taken for a pipe with its number" "another pipe"
plant '/"event":"PATH".*"path":6,/s/"role":3/"role":4/' "a pipe whose ends are confused" \
    "a SEND at the end of a pipe that has the other direction"
plant '/"event":"PATH".*"path":6,/s/"role":3/"role":0/' "a pipe without direction" \
    "a pipe that is neither written nor read"
plant '/"time_ns":45,/s/"offset":120/"offset":121/' "a gap of a pipe's bytes" \
    "RECEIVE: a gap: offset 121"
plant '/"time_ns":46,/s/"offset":160/"offset":161/' "an end of a pipe that is not at its end" \
    "the end of file is not where the data end"

pipes
change "$dump" '/"event":"MACHINE"/s/}/,"kinds_left_out":8}/'
change "$dump" '/"kind":"pipe"/d'
change "$dump" '/"kind":"fifo"/d'
change "$dump" 's/"failed_sends":2/"failed_sends":1/'
change "$dump" '/"time_ns":58,/s/"sequence":9/"sequence":5/'
change "$dump" '/"time_ns":59,/s/"sequence":8/"sequence":1/'
is_equal "pipes that were not metered are left out of the log"

pipes
change "$logs/100-3000.log" 's/ 0 read 46000 46000 \[eof\]/ 40 splice 46000 46000 [101:120:40]/
    /readv/s/40 readv.*/0 read 45000 45000 [eof]/'
change "$dump" '/"time_ns":45,/s/"offset":120,"bytes":40\(.*\),"edges".*/"offset":120,"bytes":0\1}/'
change "$dump" '/"time_ns":46,/s/"offset":160,"bytes":0\(.*\),"end_of_file":true/"offset":120,"bytes":40\1,"edges":['"$(edge exact 2 7 40)"']/'
cp "$dump" "$scratch/reopened"
cp "$logs/100-3000.log" "$scratch/reopened.log"
finds "an end of a pipe behind which it goes on" "the end of file is not where the data end"
pipes
sed 's/"kind":"fifo"/"kind":"other"/; s/"kind":"pipe"/"kind":"fifo"/; s/"kind":"other"/"kind":"pipe"/' \
    "$scratch/reopened" > "$dump"
sed 's/fifo:/other:/; s/pipe:/fifo:/; s/other:/pipe:/' "$scratch/reopened.log" > "$logs/100-3000.log"
change "$logs/101-2000.log" 's/fifo:/other:/; s/pipe:/fifo:/; s/other:/pipe:/'
is_equal "... which a FIFO may do"

# The first packet is read in part: 30 bytes of it are discarded.
pipes
change "$logs/100-3000.log" 's/50 splice.*/20 read+packet 44000 44000 [101:100:20]/; s/ read 4/ read+packet 4/'
change "$dump" '/"time_ns":44,/s/"offset":70,"bytes":50\(.*\),"edges".*/"offset":100,"bytes":20\1,"edges":['"$(edge exact 2 6 20 SENDCALL)"']}/'
cp "$dump" "$scratch/packets"
is_equal "a packet that was read in part"
pipes
cp "$scratch/packets" "$dump"
change "$logs/100-3000.log" 's/50 splice.*/20 read 44000 44000 [101:100:20]/'
finds "... but not of a pipe without packets" "RECEIVE: a gap: offset 100"

pipes
change "$logs/100-3000.log" '/tee/{s/tee/splice/;h;d;}; /fifo:20 25 read /{s/read/splice/;s/48000/47000/g;G;}'
is_equal "a splice is a RECEIVE and a SEND, in any order"
pipes
change "$logs/100-3000.log" '/tee/{s/tee/splice/;h;d;}; /fifo:20 25 read /{s/read/splice/;G;}'
finds "... but not of two calls" "in another order in the dump"

plant '/"time_ns":43,/s/"sequence":5,/"sequence":7,/' "an exact edge to what comes later" \
    "leads to what stands behind it"
plant '/"time_ns":45,/s/"sequence":7,"event":"SEND","bytes":40/"sequence":5,"event":"SEND","bytes":40/' \
    "an exact edge to another SEND of the sender" "is wrong: by the log nothing of that SEND was received"
plant '/"time_ns":45,/s/"sequence":7,/"sequence":8,/' "an exact edge to another path" "leads to another path"
plant '/"time_ns":43,/s/"bytes":70}/"bytes":71}/' "an exact edge of more bytes" \
    "is wrong: by the log fewer bytes of it were received"
plant '/"time_ns":43,/s/"bytes":70}/"bytes":69}/' "an exact edge of fewer bytes" \
    "70 bytes of the SEND in line"
plant '/"time_ns":44,/s/"sequence":6,"event":"SENDCALL"/"sequence":6,"event":"SEND"/' \
    "an edge to a SEND that is none" "leads to no SEND"
plant '/"time_ns":43,/s/"event":"SEND"/"event":"SENDCALL"/' "an edge to a SENDCALL that is none" \
    "leads to no SENDCALL"
plant '/"time_ns":43,/s/"origin":0,"stream":2/"origin":0,"stream":17/' "an edge to a stream that is none" \
    "leads to no SEND"
plant '/"time_ns":44,/s/'"$(edge exact 2 5 30)"',//' "an edge that is missing" \
    "30 bytes of the SEND in line"
plant '/"time_ns":43,/s/,"edges":\[.*\]/,"edges":[],"rest":{"bytes":70,"why":"unmatched"}/' \
    "bytes without an edge" "70 bytes of a RECEIVE have no edge"
plant '/"time_ns":43,/s/"edges":\[/"edges":['"$(edge exact 2 5 70)"',/' "an exact edge that is there twice" \
    "a RECEIVE of 70 bytes whose edges and rest are exactly 140"
plant '/"time_ns":49,/s/,'"$(edge ordered 3 5 25)"'//' "a sender that is not among the ordered edges" \
    "25 bytes of the SEND in line"
plant '/"time_ns":48,/s/'"$(edge ordered 2 8 20)"',//' "... of two senders" "20 bytes of the SEND in line"
plant '/"time_ns":49,/s/"bytes":25}/"bytes":24}/' "an ordered edge that can be of more bytes" \
    "25 bytes of the SEND in line"
plant '/"time_ns":49,/s/'"$(edge ordered 2 8 20)"'/'"$(edge exact 2 8 20)"'/' \
    "an exact edge among ordered ones that is wrong" "is wrong: by the log nothing of that SEND was received"
plant '/"time_ns":45,/s/"kind":"exact"/"kind":"ordered"/' "an edge that is not exact, beside no other sender" \
    "must be exact: nobody else can have sent these bytes"
plant '/"time_ns":44,/s/"kind":"exact"/"kind":"inferred"/' "... nor one that is inferred" \
    "must be exact: nobody else can have sent these bytes"
# The SEND of stream 2 into the FIFO ends before stream 3 begins its own.
plant '/"time_ns":46,"event":"SEND"/s/"time_ns":46/"time_ns":34/' "... nor of two senders that take turns" \
    "must be exact: nobody else can have sent these bytes"

# late_send: the SEND of stream 2 into the FIFO is later than the RECEIVE.
late_send() {
    pipes
    change "$dump" '/"time_ns":46,"event":"SEND"/s/"time_ns":46/"time_ns":50/'
}
late_send
run
check_equal "a RECEIVE before its SEND, of a pipe that several write to, is counted" \
    "0 1 RECEIVEs are earlier than their SENDs, by 0.0 us at most" \
    "$status $(sed -n 's/^of pipes that several use at once, //p' "$scratch/output")"
renew
late_send
change "$dump" 's/"kind":"fifo"/"kind":"unix-stream"/'
for log in "$logs"/*; do
    sed -i 's/fifo:20/20/' "$log"
done
finds "a RECEIVE before its SEND, beside other senders" "ns earlier than a SEND whose bytes it has"

pipes
change "$dump" '/"time_ns":49,/s/'"$(edge ordered 2 8 20),$(edge ordered 3 5 25)"'/'"$(edge exact 3 5 25)"'/'
is_equal "an exact edge where ordered ones would do"

pipes
change "$logs/100-3000.log" 's/\[101:0:20,100:0:5\]/[101:?:20,100:?:5]/; s/\[101:70:50\]/[?:50]/'
is_equal "bytes of which the log does not know which they are"
pipes
change "$logs/100-3000.log" 's/\[101:120:40\]/[101:?:40]/'
change "$dump" '/"time_ns":45,/s/"sequence":7,/"sequence":5,/'
is_equal "... may be any of their sender's"
pipes
change "$logs/100-3000.log" 's/\[101:0:20,100:0:5\]/[101:?:20,100:?:5]/'
change "$dump" '/"time_ns":48,/s/'"$(edge ordered 2 8 20),$(edge ordered 3 5 25)"'/'"$(edge exact 3 5 25)"'/'
finds "... but not of more bytes than that" "is wrong: by the log nothing of that SEND was received"

# Acquired: stream 2 sent 30 of the bytes that stream 3 reads first before metering began.
acquired() {
    pipes
    options=--acquired
    mv "$logs/101-2000.log" "$logs/101-5.log"
    change "$logs/101-5.log" '/pipe:20 100/i\
SEND pipe:20 40 write 29000 30000'
    change "$logs/101-5.log" '1,/^RECEIVE/{/^RECEIVE/!d;}'
    change "$logs/100-3000.log" 's/\[101:0:70\]/[101:10:70]/; s/\[101:70:50\]/[101:80:50]/; s/\[101:120:40\]/[101:130:70]/
        s/ 40 readv/ 70 readv/'
    change "$dump" '/"event":"PATH".*"path":[67],/s/"peer"/"older":true,"peer"/'
    change "$dump" '/"event":"PATH".*"path":7,/s/"start_in":0/"start_in":4294967266/'
    change "$dump" '/"time_ns":2[01234],/d'
    change "$dump" '/"time_ns":43,/s/"offset":0,/"offset":4294967266,/; /"time_ns":44,/s/"offset":70,/"offset":40,/
        /"time_ns":45,/s/"offset":120,"bytes":40/"offset":90,"bytes":70/'
    change "$dump" '/"time_ns":43,/s/"edges".*/'"$(edges "$(edge exact 2 5 40)")"',"rest":{"bytes":30,"why":"external"}}/
        /"time_ns":44,/s/"edges".*/'"$(edges "$(edge exact 2 5 50)")"'}/
        /"time_ns":45,/s/"edges".*/'"$(edges "$(edge exact 2 5 10)" "$(edge exact 2 7 60)")"'}/'
}
acquired
is_equal "acquired: what was sent before has no edge"
acquired
change "$dump" '/"time_ns":43,/s/"bytes":40}\],"rest":{"bytes":30,/"bytes":39}],"rest":{"bytes":31,/'
finds "... but what was sent since" "40 bytes of the SEND in line"
acquired
change "$dump" '/"time_ns":43,/s/"bytes":40}.*/"bytes":70}]}/'
finds "... and no exact edge to it is right" "is wrong: by the log fewer bytes of it were received"
options=

pipes
change "$dump" 's/"kind":"ordered"/"kind":"likely"/'
refuses "an edge of a kind that there is not" "an edge of no kind"
pipes
change "$dump" '/"time_ns":43,/s/"origin":0,//'
refuses "an edge from nowhere" "an edge that does not say from where it comes"
pipes
change "$logs/100-3000.log" 's/\[101:0:70\]/[101:0:70,/'
refuses "whose bytes they are, cut short" "not a line of a log: RECEIVE"

# ---- what cannot be read ----
echo '{"event":"SEND",' >> "$dump"
refuses "a line that is no object" "not a JSON object on one line"

change "$dump" '/"time_ns":16,/s/"bytes":7/"bytes":"7"/'
refuses "a number that is none" "\"bytes\" is not there or not a number"

echo 'SEND 9' >> "$logs/100-3000.log"
refuses "a line that is not of a log" "not a line of a log: SEND"

change "$logs/101-2000.log" '/^TERMINATION/d'
refuses "a log that was cut" "does not end with TERMINATION"

rm -r "$logs"
mkdir "$logs"
refuses "a folder without logs" "holds no log"

"$compare" "$dump" > /dev/null 2>&1
check_equal "refuses a missing argument" 2 $?

finish
