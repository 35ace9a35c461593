#!/bin/sh
# SPDX-License-Identifier: MIT
# salesman.sh off|on|best: the travelling salesman, with one slow machine of three. Each tour for 13 cities is a process of a job, four at a
# time. The controller of dpm-job(1) creates them on three hosts in turn; the third has a tenth of a CPU. Steering decides on which
# machine the job's next process is created. Found by hand: none on the slow one. The figure is tours a minute. The hosts are
# namespaces (scripts/hosts); TSP is the folder of tsp and tsp-server (build/examples/tsp).
. "$(dirname "$0")/study.inc"
needs='nats-server ssh ip jq'
packages='nats-server openssh-server iproute2 jq'
hosts=$folder/../../scripts/hosts
tsp=$(realpath "${TSP:-$folder/../../build/examples/tsp}")
dpm=$(realpath "$(command -v "${DPM:-dpm}")")
session="salesman-$$"

end_hosts() {
    exec 3>&- # the controller ends at the end of its commands
    [ -z "${controller:-}" ] || wait "$controller" || :
    "$hosts" down "$scratch/hosts" > "$scratch/down" 2>&1 || :
    for limit in $limits; do rmdir "$limit" 2> "$scratch/rmdir" || :; done
    finish
}

# slow HOST: a tenth of a CPU.
slow() {
    limits=/sys/fs/cgroup/cpu/$session
    mkdir "$limits" 2> "$scratch/group" && [ -e "$limits/cpu.cfs_quota_us" ] || {
        limits=/sys/fs/cgroup/$session
        mkdir "$limits"
    }
    if [ -e "$limits/cpu.cfs_quota_us" ]; then
        echo 10000 > "$limits/cpu.cfs_quota_us"
    else
        echo '10000 100000' > "$limits/cpu.max"
    fi
    init=$("$hosts" list "$scratch/hosts" | awk -v host="$1" '$1 == host { print $4 }')
    for process in $init $(pgrep -P "$init"); do echo "$process" > "$limits/cgroup.procs"; done
}

start() {
    limits=''
    trap end_hosts EXIT
    export HOME="$scratch/home" XDG_STATE_HOME="$scratch/state"
    mkdir "$HOME"
    "$hosts" up --owner $$ "$scratch/hosts" web1 web2 web3 > "$scratch/up"
    slow web3
    weights='1 1 1'
    [ "$setting" != best ] || weights='1 1 0'
    # shellcheck disable=SC2086 # three words
    "$folder/place-next" "$scratch/machines" next web1 web2 web3 $weights
    mkfifo "$scratch/commands"
    (cd "$scratch" && exec "$dpm" job -f - --session "$session" --rsh "ssh -F $scratch/hosts/ssh_config" --remote-dpm "$dpm" \
        --machines "$scratch/machines" < commands > controller.log 2>&1) &
    controller=$!
    exec 3> "$scratch/commands"
    printf '%s\n' 'newjob tours' 'setflags tours all' >&3
    play_round web1 web2 web3 # so that each is connected
}

# play_round MACHINE...: a tour on each, and waits for all of them.
play_round() {
    before=$(ended)
    for machine in "$@"; do create "$machine"; done
    printf '%s\n' 'startjob tours' 'wait tours' >&3
    until [ "$(ended)" -ge $((before + $#)) ]; do sleep 0.1; done
}

create() {
    echo "addprocess tours $1 $tsp/tsp --cities 13 --servers 1 --quiet --seed $((seed = ${seed:-0} + 1))" >&3
}

ended() {
    grep -c 'of job tours ended: exit status 0' "$scratch/controller.log" || :
}

policy() {
    cat << POLICY
group ask is name tsp
group web1 is name tsp-server on web1
group web2 is name tsp-server on web2
group web3 is name tsp-server on web3
goal requests/s of ask
shares of web1 web2 web3 by $folder/place-next $scratch/machines next web1 web2 web3 {}
POLICY
}

load() {
    first=$(ended) begin=$(date +%s)
    while [ $(($(date +%s) - begin)) -lt "$seconds" ]; do play_round next next next next; done
    awk -v tours=$(($(ended) - first)) -v seconds=$(($(date +%s) - begin)) 'BEGIN { printf "%.1f\n", 60 * tours / seconds }'
}

steer_options="--session $session"
play
