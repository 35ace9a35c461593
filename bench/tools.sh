# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # compare.sh reads what is set here, sets what is read
# tools.sh: the tools that are attached to a load: dpm, and common alternatives. Read by compare.sh. A tool is four
# functions:
#
#   start_TOOL    replaces the shell by it, on the processes $watched, writing $output
#   ready_TOOL    whether it has begun, according to its messages in $said or its output
#   count_TOOL    how many messages sent and received the output holds
#   about_TOOL    what it records
#
# They never end because their load has ended: they also watch a bystander, which only sleeps.
peers="bpftrace tcpdump perf_record perf_trace strace"

# put_on TOOL OPTION...: sets $tool, its process, when it has begun to record $targets. Returns 1, with $reason, if it
# does not.
put_on() {
    name=$1
    output=$scratch/output
    said=$scratch/said
    reason=
    shift
    rm -rf "$output" "$said"
    sleep 60 &
    bystander=$!
    watched="$targets $bystander"
    "start_$name" "$@" > "$said" 2>&1 &
    tool=$!
    running="$running $bystander $tool"
    wait_for 20 ready_or_ended && ! ended "$tool" && return
    reason=$(grep . "$said" | tail -n 1)
    reason=${reason:-it has not begun after 20 s, and says nothing}
    end_processes "$tool" "$bystander"
    tool=
    return 1
}

ready_or_ended() {
    ended "$tool" || "ready_$name"
}

take_off() {
    end_processes "$tool" "$bystander"
    [ "$name" != dpm ] || grep -q ' 0 lost' "$said" ||
        echo "$0: records were lost: $(tail -n 1 "$said")" >&2
}

# with_commas WORD...: joins them into one word.
with_commas() {
    echo "$*" | tr ' ' ,
}

# opened_events: whether the tool has opened kernel events, which it is about to enable.
opened_events() {
    find "/proc/$tool/fd" -lname '*perf_event*' | grep -q . && sleep 0.1
}

title_of() {
    echo "$1" | tr _ ' '
}

# ---- dpm ----

start_dpm() {
    # shellcheck disable=SC2086 # a word for each process
    exec "$dpm" acquire -o "$output" --duration 60s "$@" $watched
}

ready_dpm() {
    grep -q '^dpm: metering' "$said"
}

count_dpm() {
    "$dpm" dump --type send,receive "$output" | wc -l
}

about_dpm() {
    echo "every message: thread, path, position, bytes, times, function"
}

# The load is not metered; another program is.
start_neighbour() {
    watched=$bystander
    start_dpm "$@"
}

ready_neighbour() {
    ready_dpm
}

# No meter: only programs that return at once, on the named hooks.
start_empty_hooks() {
    exec "$build/bench/empty-hooks" "$@"
}

ready_empty_hooks() {
    grep -q '^attached' "$said"
}

# ---- strace ----

messages=network,read,write,readv,writev,sendfile

start_strace() {
    # shellcheck disable=SC2086 # a word for each process
    exec strace -f -e trace="$messages" -o "$output" -p "$(with_commas $watched)"
}

ready_strace() {
    # shellcheck disable=SC2086
    set -- $watched
    [ "$(grep -c attached "$said")" -ge $# ]
}

count_strace() {
    grep -cE '(sendto|recvfrom)[( ].* = [0-9]' "$output"
}

about_strace() {
    echo "every call: thread, descriptor, bytes, beginning of the message"
}

# ---- perf trace ----

start_perf_trace() {
    # shellcheck disable=SC2086 # a word for each process
    exec perf trace -o "$output" -p "$(with_commas $watched)"
}

ready_perf_trace() {
    opened_events
}

count_perf_trace() {
    grep -cE '(sendto|recvfrom)\(.* = [0-9]' "$output"
}

about_perf_trace() {
    echo "every call: thread, descriptor, bytes, time, duration"
}

# ---- perf record ----

start_perf_record() {
    # shellcheck disable=SC2086 # a word for each process
    exec perf record -q --no-bpf-event -e sock:sock_send_length,sock:sock_recv_length -o "$output" \
        -p "$(with_commas $watched)"
}

ready_perf_record() {
    opened_events
}

count_perf_record() {
    perf script -F event -i "$output" 2> "$scratch/perf.err" | wc -l
}

about_perf_record() {
    echo "every message: thread, bytes, time; not which connection"
}

# ---- tcpdump ----

start_tcpdump() {
    exec tcpdump -i lo -w "$output"
}

ready_tcpdump() {
    grep -q '^tcpdump: listening' "$said"
}

count_tcpdump() {
    tcpdump -r "$output" 2> "$scratch/tcpdump.err" | wc -l
}

about_tcpdump() {
    echo "packets: connection, bytes; no process, no receive, no UNIX sockets"
}

# ---- bpftrace ----

start_bpftrace() {
    # shellcheck disable=SC2086 # a word for each process
    condition=$(printf ' || pid == %d' $watched)
    cat > "$scratch/messages.bt" << END
tracepoint:sock:sock_send_length /${condition# || }/ {
    printf("%llu %d send %d\n", nsecs, tid, args->ret);
}
tracepoint:sock:sock_recv_length /${condition# || }/ {
    printf("%llu %d receive %d\n", nsecs, tid, args->ret);
}
END
    exec bpftrace -o "$output" "$scratch/messages.bt"
}

ready_bpftrace() {
    opened_events
}

count_bpftrace() {
    grep -cE ' (send|receive) ' "$output"
}

about_bpftrace() {
    echo "every message: thread, bytes, time; not which connection"
}
