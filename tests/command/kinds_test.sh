#!/bin/sh
# SPDX-License-Identifier: MIT
# kinds_test.sh BUILD_FOLDER: metering only some kinds of paths: their records are those of a meter of all kinds at the
# same time, other kinds have no records, and only the needed hooks are attached.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
program=$1/tests/truth/truth-program
cd "$scratch" || exit 1
seed=${DPM_SEED:-$(($(date +%s) % 100000))}
echo "# seed $seed (DPM_SEED repeats it)"

# messages KINDS TRACE: for each thread's sends and receives on paths of these kinds (a pattern): bytes, socket and
# position. Not for sockets on which several threads may send at the same time: two meters may see these in different
# orders.
messages() {
    "$dpm" dump --json --type path,send,receive "$2" 2> dump.err | jq -c -s --arg kinds "$1" '
        (map(select(.event == "PATH")) | map({key: (.path | tostring), value: .}) | from_entries) as $paths |
        .[] | select(.event == "SEND" or .event == "RECEIVE") | $paths[.path | tostring] as $path |
        select($path.kind | test($kinds)) | [.event, .tid, $path.cookie, .bytes,
            if $path.kind == "tcp" then .offset else null end]' | sort
}

# kinds_of TRACE: the kinds of its paths.
kinds_of() {
    "$dpm" dump --json --type path "$1" 2> dump.err | jq -r .kind | sort -u | tr '\n' ' '
}

others="fifo pipe tcp udp unix-datagram unix-seqpacket unix-stream "
without_udp="fifo pipe tcp unix-datagram unix-seqpacket unix-stream "

# One run of the program, metered by several meters at the same time, each with a trace and a report named after its
# kinds.
lists="udp all"
! long_ones || lists="all,-udp unix udp tcp all"
set -- "$program" --seed "$seed" --log log
for list in $lists; do
    set -- "$dpm" run -o $list.trace --kinds $list --flags "all -pc" --ring 64M --report $list.report --wait -- "$@"
done
record() {
    rm -rf log ./*.trace
    mkdir log
    "$@" > out 2> err
    status=$?
    for list in $lists; do
        "$dpm" dump --type end "$list.trace"
    done > ends 2> dump.err
}
repeat record "$@"
check_equal "metered several times, the program ends in order" 0 $status
check_equal "... with all kinds there are all" "$others" "$(kinds_of all.trace)"

# only LIST PATTERN KINDS LEFT_OUT: the meter of this list.
only() {
    check_equal "$1: there are only its own kinds" "$3" "$(kinds_of "$1.trace")"
    messages "$2" all.trace > all
    messages "$2" "$1.trace" > some
    check "... there are messages" test "$(wc -l < some)" -gt 500
    check_equal "... every message as when all are metered" "" "$(diff all some | head -n 5)"
    check "... the report says what is not metered" \
        grep -Eqx "Connections of (this kind|these kinds) were not metered: $4\." "$1.report"
    check_equal "... and the JSON object" "$4" \
        "$("$dpm" stats --json "$1.trace" 2> err | jq -r '.trace.not_metered | join(", ")')"
}

only udp '^udp' 'udp ' 'tcp, unix, pipe, mq'
if long_ones; then
    only tcp '^tcp' 'tcp ' 'udp, unix, pipe, mq'
    only unix '^unix' 'unix-datagram unix-seqpacket unix-stream ' 'tcp, udp, pipe, mq'
    only all,-udp '^tcp|^unix' "$without_udp" udp
fi

"$dpm" stats --json all.trace 2> err > stats.json
check_equal "of all kinds nothing is left out" '[]' "$(jq -c .trace.not_metered stats.json)"
check_not "... nor does the report speak of it" grep -q 'were not metered' all.report

# hooks LIST: the hooks on messages and paths of a meter that meters this list.
cat > hooks.sh <<'SCRIPT'
sed -n 's/^prog_id:[[:blank:]]*//p' /proc/$PPID/fdinfo/* | sort -u > own
bpftool prog show | sed -n 's/^\([0-9]*\): .* name \([^ ]*\) .*/\1 \2/p' |
    awk 'FILENAME == "own" { own[$1]; next } $1 in own { print $2 }' own - |
    grep -E '^(tcp_|udp_|sk_data_ready|skb_copy|kfree_skb|inet_sock_|sock_|sys_)' | sort | tr '\n' ' '
SCRIPT
hooks() {
    rm -rf hooks.trace
    "$dpm" run -o hooks.trace --kinds "$1" --flags "send receive" -- sh hooks.sh 2> err
}
if command -v bpftool > bpftool.path; then
    check_equal "TCP alone has hooks of its own" \
        "inet_sock_set_state sock_recv_length sock_send_length tcp_destroy_sock tcp_rcv_space_adjust tcp_sendmsg_locked " \
        "$(hooks tcp)"
    check_equal "... so has UDP" \
        "kfree_skb sock_recv_length sock_send_length udp_create udp_egress udp_ingress udp_release " \
        "$(hooks udp)"
    check_equal "... and pipes" "sys_exit " "$(hooks pipe)"
    if long_ones; then
        check_equal "... and UNIX sockets" \
            "sk_data_ready skb_copy_datagram_iovec sock_recv_length sock_send_length " "$(hooks unix)"
    else
        skip "... and UNIX sockets" "takes long: only with ./dev test --all"
    fi
else
    skip "which hooks there are" "bpftool is not installed"
fi

# As root, but without the capability that hooks on packets need.
less="setpriv --bounding-set=-net_admin --inh-caps=-net_admin"
if $less true 2> err; then
    rm -rf less.trace
    $less "$dpm" run --meter kernel -o less.trace --kinds udp --flags all -- true > out 2> err
    check_equal "UDP alone, where it cannot be metered, is refused" "1 no trace" \
        "$? $([ -e less.trace ] || echo no trace)"
    check "... and why" grep -q 'UDP is not metered: .* CAP_NET_ADMIN, and --kinds asks for nothing else' err
    $less "$dpm" run -o less.trace --kinds tcp,udp --flags all --wait -- true > out 2> err
    check_equal "with TCP the rest is metered" 0 $?
    check_equal "... and the trace says what is not" "udp, unix, pipe, mq" \
        "$("$dpm" stats --json less.trace 2> err | jq -r '.trace.not_metered | join(", ")')"
else
    skip "without CAP_NET_ADMIN" "$(cat err)"
fi

refuse() {
    "$dpm" run --kinds "$1" -- true > out 2> err
    check_equal "--kinds $1 is wrong usage" 2 $?
    check "... and says so" grep -q "$2" err
}
refuse pigeon "'pigeon' is no kind of path; there are: all,tcp,udp,unix,pipe"
refuse tcp,-tcp '[-]-kinds leaves no connection'
finish
