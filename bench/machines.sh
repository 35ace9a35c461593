#!/bin/sh
# SPDX-License-Identifier: MIT
# machines.sh BUILD_FOLDER: a program on another host (scripts/hosts) is metered: records a second from its agent to the
# filter here, and for each part the CPU time for a record, and the most memory.
#
# RATES: messages a second to try (5000 25000 50000); SECONDS_OF_LOAD: how long each (8)
. "$(dirname "$0")/../tests/command/tap.sh"
. "$(dirname "$0")/../tests/command/meter.sh"
need_meter
need_programs ip ssh jq nats-server
hosts=$(realpath "$(dirname "$0")/../scripts/hosts")
steady=$(realpath "$1/tests/programs/steady")
dir=$scratch/hosts

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" one > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"

# sample NAME PID: remembers the CPU time (ticks) and the most memory (KiB) of a process, if it still lives.
sample() {
    [ -n "$2" ] || return 0
    ticks=$(sed 's/.*) //' "/proc/$2/stat" 2> stat.err | awk '{ print $12 + $13 }')
    memory=$(awk '/^VmHWM/ { print $2 }' "/proc/$2/status" 2> stat.err)
    [ -z "$memory" ] || echo "$ticks $memory" > "part.$1"
}

sample_all() {
    sample agent "$(pgrep -x dpm-agent | head -n 1)"
    sample ssh "$(pgrep -f "^ssh -F $dir/ssh_config .* one $dpm agent")"
    front=$(pgrep -f "^$dpm agent" | grep -vxF "$(pgrep -x dpm-agent)" | head -n 1)
    sample front "$front"
    [ -z "$front" ] || sample sshd "$(awk '/^PPid/ { print $2 }' "/proc/$front/status" 2> stat.err)"
    sample server "$(pgrep -f "nats-server .*$HOME")"
    sample controller "$(pgrep -P $run -x dpm)"
    sample filter "$(pgrep -f "^$dpm filter --from .* --output trace " | head -n 1)"
}

printf '%-10s %10s %6s %12s   %s\n' "MESSAGES/S" RECORDS LOST "RECORDS/S" "CPU us a record (most memory, MiB) of each part"
for rate in ${RATES:-5000 25000 50000}; do
    rm -f part.* && rm -rf trace
    timeout 100 "$dpm" run --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" --kinds unix --ring 64M -o trace \
        --analyses stats --host one:"$steady $rate ${SECONDS_OF_LOAD:-8}" > out 2> err < /dev/null &
    run=$!
    while ! grep -q '^sent' out && kill -0 $run 2> kill.err; do
        sample_all
        sleep 0.2
    done
    sample_all
    wait $run
    "$dpm" stats --json trace/one > stats.json 2> stats.err
    records=$(sed -n 's/^dpm: \([0-9]*\) records of 1 host.*/\1/p' err)
    printf '%-10s %10s %6s %12.0f  ' "$(awk -v s="${SECONDS_OF_LOAD:-8}" '{ printf "%.0f", $2 / s }' out)" "$records" \
        "$(jq .trace.lost stats.json)" "$(jq --argjson records "$records" '$records / .trace.duration_ns * 1e9' stats.json)"
    for part in agent front sshd ssh server controller filter; do
        [ ! -s part.$part ] || awk -v records="$records" -v hz="$(getconf CLK_TCK)" -v part=$part \
            '{ printf " %s %.2f (%.0f)", part, $1 / hz * 1e6 / records, $2 / 1024 }' part.$part
    done
    echo
done
