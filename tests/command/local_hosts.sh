# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034 # read after tap.sh, which sets $scratch
# local_hosts.sh: "hosts" that are this machine: a remote shell that runs the agent here, with a state of its own for each
# name. For tests of sessions, which need no network.
cat > "$scratch/rsh" << END
#!/bin/sh
# rsh HOST COMMAND...
export XDG_STATE_HOME="$scratch/state/\$1" XDG_CACHE_HOME="$scratch/cache/\$1"
shift
exec "\$@"
END
chmod 755 "$scratch/rsh"
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"
sessions=$HOME/.local/state/dpm/$(hostname)/sessions

# agents: process ids of the agents of this test, which have its folder in their log's path
agents() {
    find /proc/[0-9]*/fd/2 -maxdepth 0 -lname "$scratch/state/*/log" 2> /dev/null | cut -d / -f 3
}

# shellcheck disable=SC2317 # called by wait_for
no_agents() { [ -z "$(agents)" ]; }

# servers: process ids of the servers of this test's sessions, and of what supervises them
servers() {
    pgrep -f "nats-server .*$sessions/"
}

# shellcheck disable=SC2317 # called by trap
end_local_hosts() {
    for process in $(agents) $(servers); do kill "$process"; done
    rm -rf "$sessions"
}
