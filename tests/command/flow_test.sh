#!/bin/sh
# SPDX-License-Identifier: MIT
# flow_test.sh BUILD_FOLDER: sockets acquired while messages flow through them without pause: sends and receives count
# from the same position, and no byte is recorded twice.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
flow=$1/tests/programs/flow
cd "$scratch" || exit 1

# Everything that the processes send while they are metered is received before they end. So the last byte or message of
# each path must have the same position at both ends; no position may be missing; and no path may be recorded twice, as
# if it had ended in between. On a pipe, the first sends may be marked as having a doubtful position ("older"): then
# later ones need not begin where they end.
examine() {
    "$dpm" dump --json flow.trace 2> /dev/null | jq -r '
        if .event == "PATH" then [.event, .path, .cookie, .peer]
        elif .event == "SEND" or .event == "RECEIVE" then [.event, .path, .offset, .bytes, .older == true]
        else empty end | @tsv' | awk -v kind="$1" '
        $1 == "PATH" {
            if (!($2 in from) && told[$3, $4]++)
                print $3 " > " $4 " is recorded twice"
            from[$2] = $3
            to[$2] = $4
            next
        }
        $4 > 0 {
            way = $1 == "SEND" ? from[$2] " > " to[$2] : to[$2] " > " from[$2]
            if (($1, way) in place && place[$1, way] != $3 && !($1 == "SEND" && doubted[way]))
                print way ": " $1 " at " $3 ", not at " place[$1, way]
            next_of[way] = 1
            if ($1 == "SEND")
                doubted[way] = $5 == "true"
            place[$1, way] = $3 + (kind ~ /^(stream|pipe)/ ? $4 : 1)
        }
        END {
            for (way in next_of)
                if (place["SEND", way] != place["RECEIVE", way])
                    print way ": sent up to " place["SEND", way] ", received up to " place["RECEIVE", way]
            if (length(next_of) == 0)
                print "nothing was sent"
        }' | head -n 5
}

# On a TCP connection every byte is numbered: no two pieces of sends may overlap, nor two of receives.
examine_tcp() {
    "$dpm" dump --json flow.trace 2> /dev/null | jq -r '
        select((.event == "SEND" or .event == "RECEIVE") and .bytes > 0) | [.event, .path, .offset, .bytes] | @tsv' |
        awk -v OFS='\t' '
            !(($1, $2) in first) { first[$1, $2] = $3 }
            { # around the first one, so that 32 bits may wrap
                distance = $3 - first[$1, $2]
                if (distance > 2147483648) distance -= 4294967296
                if (distance < -2147483648) distance += 4294967296
                print $1, $2, distance, $4
            }' | sort -t "$(printf '\t')" -k1,1 -k2,2n -k3,3n | awk '
            ($1, $2) in next_of && $3 < next_of[$1, $2] {
                print $1 " on path " $2 ": " next_of[$1, $2] - $3 " bytes are recorded twice"
            }
            { next_of[$1, $2] = $3 + $4; pieces++ }
            END { if (pieces < 100) print "only " pieces " pieces" }' | head -n 5
}

# all_send COUNT: whether $pid has this many children.
all_send() {
    [ "$(pgrep -c -P "$pid")" = "$1" ]
}

# try KIND SENDERS BURST PAUSE: one flow, metered from its middle to its end.
try() {
    rm -rf flow.trace
    "$flow" "$@" &
    pid=$!
    wait_for 30 all_send "$2"
    sleep 0.1
    # shellcheck disable=SC2046
    take_over -o flow.trace --flags send,receive --kinds all --ring 64M $pid $(pgrep -P $pid)
    sleep "$seconds"
    pkill -USR1 -P $pid
    if [ "$1" = tcp-slow ]; then
        kill -USR1 $pid
    fi
    wait $acquirer
    check_equal "$*: it is metered to its end" 0 $?
    wait $pid
    check_equal "... of which nothing is lost" 1 "$(grep -c ' records, 0 lost' err)"
    if [ "$1" != "${1#tcp}" ]; then
        check_equal "... and no byte is recorded twice" "" "$(examine_tcp)"
    else
        check_equal "... and both ends count from the same place" "" "$(examine "$1")"
    fi
    case $1 in seqpacket | datagram)
        check_equal "... and of whole messages no place is in doubt any more in the last third" 0 "$(
            "$dpm" dump --json flow.trace 2> /dev/null |
                jq -s 'map(select(.event == "SEND" or .event == "RECEIVE")) |
                    (.[-1].time_ns - (.[-1].time_ns - .[0].time_ns) / 3) as $since |
                    map(select(.older and .time_ns > $since)) | length')"
        ;;
    esac
    sed -n '/settle/s/^/# /p' err
}

seconds=0.7
try datagram 1 1 30
try datagram 1 3 100
try datagram 1 20 1000
try datagram 3 2 200
try seqpacket 1 3 100
try stream 1 3 100
seconds=0.2
runs=1
! long_ones || runs="1 2 3 4 5"
for run in $runs; do
    echo "# tcp, run $run"
    try tcp 4 1 0
done
seconds=0.7
try tcp-slow 4 1 0
try pipe-slow 1 1 0
seconds=0.1 # with very many messages
try pipe 1 3 100
try pipe-large 1 1 0
# without pause
try pipe 1 1 0
seconds=0.3
try datagram 1 1 0
try seqpacket 1 1 0
finish
