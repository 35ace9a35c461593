#!/bin/sh
# SPDX-License-Identifier: MIT
# pingpong.sh BUILD_FOLDER: the overhead of metering a program that only passes messages, and the overhead for such a
# program while another one is metered, compared with other tools; and how much each tool recorded. From the
# environment: LOADS, some of tcp, udp, unix, pipe and lock (default: all).
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

# hooks_of KIND: the hooks that run for a message of this kind when it is metered for send and receive.
hooks_of() {
    case $1 in
    tcp) echo tcp_sendmsg_locked sock_send_length tcp_rcv_space_adjust sock_recv_length ;;
    udp) echo udp_egress sock_send_length udp_ingress sock_recv_length ;;
    unix) echo sk_data_ready sock_send_length skb_copy_datagram_iovec sock_recv_length ;;
    esac
}

# compare_empty KIND: the kernel's own overhead for these hooks, for any user of them.
compare_empty() {
    # shellcheck disable=SC2046 # a word for each hook
    set -- "$1" $(for each in tcp udp unix; do hooks_of $each; done | tr ' ' '\n' | sort -u)
    each=$1
    shift
    compare "programs that return at once" empty_hooks "$@"
    # shellcheck disable=SC2046
    compare "the same, $each only" empty_hooks $(hooks_of "$each")
}

# record TITLE TOOL OPTION...: a row: how much the tool recorded of one run.
record() {
    title=$1
    shift
    "begin_$load"
    put_on "$@" || true
    "run_$load"
    [ -n "$tool" ] || {
        printf '%-34s  does not work here: %s\n' "$title" "$reason"
        return
    }
    [ "$1" != tcpdump ] || sleep 1.2 # it writes once a second, and nothing at its end
    take_off
    echo "$("count_$1") $(du -sb "$output" | cut -f 1)" |
        awk -v title="$title" -v calls=$((units * 4)) -v about="$("about_$1")" '{
            printf "%-34s  %10d  %8.1f %%  %9s  %s\n", title, calls, 100 * $1 / calls,
                $1 ? sprintf("%.1f", $2 / $1) : "-", about }'
}

record_all() {
    echo
    echo "$load_title: what each tool has written down of one run"
    printf '%-34s  %10s  %10s  %9s\n' "" "calls made" recorded "bytes"
    printf '%-34s  %10s  %10s  %9s  %s\n' "" "" "of them" "for each" "what it records"
    record "dpm: send receive pc" dpm --flags "send receive pc"
    for peer in $peers; do
        record "$(title_of "$peer")" "$peer"
    done
}

for kind in ${LOADS:-tcp udp unix pipe lock}; do
    use_pingpong $kind
    heading "round trip"
    if [ $kind = lock ]; then
        compare "dpm: block" dpm --flags block
        compare "dpm: block wakeup" dpm --flags "block wakeup"
        compare "dpm: all flags, no program counters" dpm --flags "all,-pc"
        compare "dpm: all flags" dpm --flags all
        compare "neighbour of dpm: block wakeup" neighbour --flags "block wakeup"
        continue
    fi
    compare_dpm $kind
    compare "neighbour of dpm: send receive pc" neighbour --flags "send receive pc"
    compare "the same, $kind only" neighbour --flags "send receive pc" --kinds $kind
    compare "neighbour of dpm: all flags" neighbour --flags all
    compare "the same, $kind only" neighbour --flags all --kinds $kind
    [ $kind = pipe ] || compare_empty $kind
    # dpm acquire does not meter pipes by default
    [ $kind = udp ] || compare "neighbour of dpm: send receive pc, pipes too" \
        neighbour --flags "send receive pc" --kinds all
    case $kind in udp | pipe) continue ;; esac # for these it is the same as TCP, or nothing
    compare_peers
    record_all
done
