# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# meter.sh: shared by the tests that meter; read after tap.sh. Benchmarks read it too.

dpm=$1/dpm
stalls=$1/tests/programs/stalls
# A dpmd that serves this machine is not what is tested.
export DPM_SOCKET="$scratch/no-dpmd"

# That the kernel meter runs is found once for all tests of a build, since loading it takes long. It counts for the same
# program (with the same file capabilities), boot, namespaces, user, capabilities and seccomp filter.
found_meter=$1/kernel-meter-runs
here() {
    stat -c %z "$dpm"
    cat /proc/sys/kernel/random/boot_id
    readlink /proc/self/ns/*
    id -u
    grep -E '^(CapEff|NoNewPrivs|Seccomp|Seccomp_filters):' /proc/self/status
}
was_found() {
    [ -e "$found_meter" ] && [ "$(cat "$found_meter")" = "$(here)" ]
}
note_found() {
    here > "$found_meter" || : # without, each test tries
}

# need_meter: ends the test if the kernel meter cannot run: skipped, if it lacks privilege or kernel support; failed, if
# it breaks.
need_meter() {
    was_found && return
    reason=$("$dpm" run --meter kernel -o "$scratch/probe.trace" -- true 2>&1) && note_found && return
    case $reason in
    *CAP_BPF* | *"the kernel meter does not run here"*)
        skip_all "the kernel meter does not run here: $(echo "$reason" | head -n 1)" ;;
    esac
    fail "dpm run meters a command" "$reason"
    finish
}

# find_meter: sets `meter` to kernel or ptrace, the default of dpm run here; if neither works it is empty and `reason`
# says why.
find_meter() {
    meter=
    if was_found; then
        meter=kernel
    else
        rm -rf "$scratch/probe.trace"
        reason=$("$dpm" run -o "$scratch/probe.trace" -- true 2>&1) || return 0
        meter=kernel
        case $reason in *"metering with ptrace"*) meter=ptrace ;; esac
        rm -rf "$scratch/probe.trace"
        [ $meter = ptrace ] || note_found
    fi
    echo "# meter: $meter"
    # a traced process cannot trace itself, as the leak sanitizer does
    [ $meter = kernel ] || export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
}

# need_any_meter: ends the test if no meter works; sets `meter`.
need_any_meter() {
    find_meter
    [ -n "$meter" ] || skip_all "no meter runs here: $reason"
}

# only_kernel NAME WHY: whether this is the kernel meter; otherwise skips a test case that the ptrace meter does not
# support.
only_kernel() {
    [ "$meter" = kernel ] || skip "$1" "the ptrace meter is in use: $2"
    [ "$meter" = kernel ]
}

# programs_of PROCESS: the ids of its BPF programs. (Other meters may run on this machine at the same time.)
programs_of() {
    sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$1/fdinfo/"* | sort -u
}

# are_freed IDS: whether none of these programs exists in the kernel any more; it frees a program some time after its
# last user has gone. The file has at least one.
are_freed() {
    [ -s "$1" ] && ! bpftool prog show | sed -n 's/^\([0-9]*\): .*/\1/p' | grep -qxFf "$1"
}

# free_port: a port of this machine that no socket uses, and that the kernel assigns to no client.
free_port() {
    first=$(cut -f 1 /proc/sys/net/ipv4/ip_local_port_range)
    used=$(ss -Hantu | awk '{ sub(".*:", "", $5); print $5 }' | sort -u)
    while :; do
        set -- $((1024 + $(od -An -N2 -tu2 /dev/urandom) % (first - 1024)))
        echo "$used" | grep -qx "$1" || break
    done
    echo "$1"
}

# wait_for SECONDS COMMAND...: waits until the command succeeds. The limit is for what has gone wrong, and makes no test
# slower: tests give 30 s or more, since a busy machine may take long for anything.
wait_for() {
    tries=$(($1 * 5 + 10))
    soon=$(($1 * 5)) # each try costs processes: after ten of them, fewer
    shift
    while ! "$@" > /dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        [ "$tries" -ge "$soon" ] && sleep 0.05 || sleep 0.2
    done
}

# has_computed PROCESS TICKS: whether it has used this much CPU time, in 1/100 s: so it is past its beginning.
has_computed() {
    [ "$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat")" -ge "$2" ]
}

# shellcheck disable=SC2034 # some tests use `stalled`
# watched COMMAND...: runs it, and sets `stalled`: for how many ns CPUs stood still meanwhile (tests/programs/stalls.c),
# which dpm and the metered program may each take for something else. 0 if that cannot be known.
watched() {
    "$stalls" > "$scratch/stalls" 2>&1 &
    stalls_process=$!
    "$@"
    watched_status=$?
    kill -TERM $stalls_process 2> /dev/null
    wait $stalls_process
    stalled=$(grep -x '[0-9]*' "$scratch/stalls") || stalled=0
    return $watched_status
}

# waited_for_cpu: how long runnable tasks of this machine have waited for a CPU, in us, by the kernel's own account.
waited_for_cpu() {
    sed -n 's/^some .*total=//p' /proc/pressure/cpu 2> "$scratch/pressure"
}

# needs_cpu NAME COMMAND...: a case that assumes that dpm gets a CPU within some 10 ms. If the command fails it is skipped,
# if tasks waited for a CPU for a tenth of the time meanwhile.
needs_cpu() {
    needs_name=$1
    shift
    waited_before=$(waited_for_cpu)
    begun=$(date +%s%N)
    if "$@" > "$scratch/needs.output" 2>&1; then
        pass "$needs_name"
        return
    fi
    passed=$((($(date +%s%N) - begun) / 1000))
    waited=$(($(waited_for_cpu) - ${waited_before:-0}))
    if [ -n "$waited_before" ] && [ $((waited * 10)) -gt $passed ]; then
        skip "$needs_name" "tasks waited for a CPU for $waited of $passed us"
    else
        fail "$needs_name" "$(cat "$scratch/needs.output")"
    fi
}

# listens_at SOCKET: whether somebody listens at this UNIX socket: 00010000 are the flags of such a one.
listens_at() {
    grep -q " 00010000 .* $1\$" /proc/net/unix
}

# repeat RECORDING ARGUMENT...: calls the function RECORDING, which leaves a trace reader's messages in dump.err. It
# repeats, up to three times in all, if the kernel skipped hooks (skipped_test.sh tests that): such a trace lacks some
# records, which no test of every record can tolerate. Each is told in a TAP comment, and `finish` says how many there
# were. (bench/skipped.sh measures how often.)
repeated=0
repeat() {
    for try in 1 2 3; do
        "$@"
        grep -q 'the kernel skipped hooks' dump.err || return 0
        sed "s|^|# $* ($try): |" dump.err
        [ $try = 3 ] || repeated=$((repeated + 1))
    done
}

# in_parts PART... [-- OPTION...]: `dpm run` with these options of a shell that runs PART.sh of each part, one after the other,
# as a process of its own: one start of the meter for many small programs. The exit status of each is in PART.status.
in_parts() {
    parts=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        parts="$parts $1"
        shift
    done
    [ $# = 0 ] || shift
    # shellcheck disable=SC2016,SC2086 # for that shell; a word for each
    "$dpm" run "$@" -- sh -c 'for part in "$@"; do sh -c "echo \$\$ > $part.pid; exec sh ./$part.sh"; echo $? > "$part.status"; done' \
        sh $parts
}

# shellcheck disable=SC2034 # tests use `part`
# part TRACE PART: sets `part` to options that select what was recorded while this part ran: from its first record to that of
# the next part.
part() {
    part=$("$dpm" dump --json --type machine,stream "$1" 2> part.err | jq -r -s --argjson own "$(cat "$2.pid")" --arg parts "$parts" \
        --argjson pids "[$(for each in $parts; do cat "$each.pid"; done | paste -sd ,)]" '
        .[0].time_ns as $begin | [.[] | select(.event == "STREAM")] as $streams |
        [$pids[] as $pid | [$streams[] | select(.pid == $pid).time_ns][0] // empty | (. - $begin) / 1000 | floor] as $begins |
        ($pids | index($own)) as $at |
        "--from \($begins[$at])us" + if $begins[$at + 1] then " --to \($begins[$at + 1])us" else "" end')
}

# take_over ARGUMENT...: `dpm acquire` in the background ($acquirer), with its messages in the file err; it meters when
# this returns. The file err is emptied first, in the foreground, so that old messages do not count.
take_over() {
    : > err
    timeout 120 "$dpm" acquire "$@" > out 2>> err &
    acquirer=$!
    wait_for 30 grep -q '^dpm: metering' err
}

# first_line [FILE]: without the time since when processes are metered.
first_line() {
    head -n 1 "$@" | sed 's/ since [0-9:.]*[0-9]/ since TIME/'
}

# let_go [SIGNAL]: ends it as its user would, and waits; returns its exit status.
# shellcheck disable=SC2120 # acquire_test.sh gives one
let_go() {
    pkill -"${1:-TERM}" -P $acquirer
    wait $acquirer
}
