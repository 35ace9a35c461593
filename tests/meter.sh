# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# meter.sh: what the tests on the kernel meter share; read after tap.sh.

dpm=$1/dpm

# need_meter: ends the test where the kernel meter cannot run: skipped, if it says that privilege or
# the kernel's help is missing; failed, if it breaks.
need_meter() {
    reason=$("$dpm" run -o "$scratch/probe.trace" -- true 2>&1) && return
    case $reason in
    *CAP_BPF* | *"This kernel has no"*) skip_all "the kernel meter does not run here: $reason" ;;
    esac
    fail "dpm run meters a command" "$reason"
    finish
}

# our_programs [LISTING]: the meter's programs that the kernel holds, id and name, sorted; or those
# in a listing of bpftool made before.
our_programs() {
    if [ $# -gt 0 ]; then cat "$1"; else bpftool prog show; fi |
        sed -n -E 's/^([0-9]+): .* name ((sock|tcp|sk|task|sched|skb|inet)_[a-z_]+).*/\1 \2/p' |
        sort
}

# none_since LISTING: whether all of the meter's programs in the kernel are in that listing.
# (The kernel frees a program some time after its last user has gone.)
none_since() {
    our_programs > "$scratch/programs"
    [ -z "$(comm -13 "$1" "$scratch/programs")" ]
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
    tries=$(($1 * 20))
    shift
    while ! "$@" > /dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}
