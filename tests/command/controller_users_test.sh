#!/bin/sh
# SPDX-License-Identifier: MIT
# controller_users_test.sh BUILD_FOLDER: two ordinary users: neither can see or touch the jobs of the other; each refusal is
# one line. (What users of one session may do there, tests/unit/fabric_test.c shows.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh" # wait_for
need_programs jq nats-server setpriv python3
[ "$(id -u)" = 0 ] || skip_all "only root can become two other users"
dpm=$(realpath "$1/dpm")
cd "$scratch" || exit 1
chmod 755 "$scratch"
anna=54321
bert=54322
export XDG_STATE_HOME='' XDG_CONFIG_HOME='' XDG_CACHE_HOME='' DPM_SOCKET="$scratch/no-dpmd"
for user in "$anna" "$bert"; do
    mkdir -m 700 "home.$user"
    chown "$user:$user" "home.$user"
done
as() {
    as_user=$1
    shift
    (cd "home.$as_user" && HOME="$scratch/home.$as_user" setpriv --reuid "$as_user" --regid "$as_user" --clear-groups "$@" < /dev/null)
}
as "$bert" "$dpm" --version > version 2>&1 || skip_all "other users cannot run $dpm"

# shellcheck disable=SC2317 # called by trap
end_all() {
    for user in "$anna" "$bert"; do
        as "$user" "$dpm" job --session secret stopjob tsp
        as "$user" "$dpm" job --session secret removejob tsp
        as "$user" "$dpm" job --session secret die
    done > end.out 2>&1
    rm -rf "$scratch"
}
trap end_all EXIT

# job USER COMMAND...: in this user's session `secret`
job() {
    job_user=$1
    shift
    as "$job_user" timeout 60 "$dpm" job --session secret "$@" > out 2> err
}

# refused NAME TEXT: the last command failed with one line that begins so, and showed nothing.
refused() {
    check_equal "$1" "1 1 0" "$status $(grep -c "^dpm: $2" err) $(wc -l < out)"
    check_equal "... in one line" 1 "$(wc -l < err)"
}

job "$anna" newjob tsp && job "$anna" add tsp localhost sleep 300 && job "$anna" startjob tsp
check_equal "a user has a job that runs" "0 1" "$? $(grep -c '^sleep@.*: started$' out)"
job "$anna" jobs tsp
pid=$(awk '$2 == "running" { print $1 }' out)
state=$scratch/home."$anna"/.local/state
session=$state/dpm/$(hostname)/sessions/secret
agent=$(echo "$state/dpm/$(hostname)"/agents/secret.*)
check_equal "... in folders that only the user can read" "700 700 700" \
    "$(stat -c %a "$session" "$agent" "home.$anna"/dpm-secret-default.traces | xargs)"

# ---- the other user ----

as "$bert" timeout 60 "$dpm" job --attach --session secret jobs > out 2> err
status=$?
refused "another user does not see it" "there is no session 'secret' of yours on this machine"
chmod 711 "home.$anna" # now only what dpm makes is in the way
(XDG_STATE_HOME=$state as "$bert" timeout 60 "$dpm" job --attach --session secret jobs) > out 2> err
status=$?
refused "... nor with the folder of the first" "there is no session 'secret' of yours on this machine"
(XDG_STATE_HOME=$state as "$bert" timeout 60 "$dpm" filter --from secret) > out 2> err
status=$?
refused "... nor a filter" "there is no session 'secret' of yours on this machine"
for file in "$session/session.json" "$session/controller" "$agent/lock"; do
    check_not "... nor can it read ${file##*/}" as "$bert" cat "$file"
done
cat > reach.py << 'END'
import socket, sys
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])
    print("connected")
except OSError as error:
    print(error.strerror)
END
check_equal "... nor reach the agent" "Permission denied" "$(as "$bert" /usr/bin/python3 "$scratch/reach.py" "$agent/socket")"
check_equal "... which the first can" connected "$(as "$anna" /usr/bin/python3 "$scratch/reach.py" "$agent/socket")"

job "$bert" newjob mine
check_equal "the other may have a session of the same name" "0 1" "$? $(grep -c '^job mine created: number 1' out)"
job "$bert" jobs
check_equal "... with other jobs" mine "$(awk 'NR > 1 { print $2 }' out)"
job "$bert" startjob tsp
status=$?
refused "... where the job of the first does not exist" "there is no job 'tsp'; the jobs: mine"
job "$bert" acquire mine localhost "$pid"
status=$?
check_equal "a process of the first cannot be acquired: one line" "1 1 0" "$status $(grep -c '^dpm: ' err) $(grep -vc '^note: ' out)"

# ---- at the server of the first ----

port=$(jq .port "$session/session.json")
# with the password of the user's own session
as "$bert" sh -c 'umask 077; jq -r ".users.filter | \"filter:\(.)\"" .local/state/dpm/'"$(hostname)"'/sessions/secret/session.json > own'
as "$bert" timeout 60 "$dpm" filter --from secret --fabric "nats://127.0.0.1:$port" --credentials own > out 2> err
status=$?
refused "the server of the first refuses the other's password" ".*refuse"
check_equal "... and to speak without one" "-ERR 'Authorization Violation'" "$(as "$bert" /usr/bin/python3 -c '
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
file = connection.makefile()
file.readline()
connection.sendall(b"CONNECT {\"verbose\":false}\r\nSUB dpm.> 1\r\nPING\r\n")
print(file.readline().strip())' "$port")"

# ---- the first goes on ----

job "$anna" jobs tsp
check_equal "the job of the first goes on as it was" "0 1" "$? $(grep -c "^$pid *running *sleep" out)"
job "$anna" stopjob tsp && job "$anna" jobs tsp
check_equal "... stops, as the next controller shows" "0 1 T" \
    "$? $(grep -c "^$pid *stopped *sleep" out) $(awk '{ sub(/.*\) /, ""); print $1 }' "/proc/$pid/stat" | tr t T)"
left() {
    find "$state/dpm/$(hostname)/agents" "$state/dpm/$(hostname)/sessions" -mindepth 1 2> find.err
}
nothing_left() {
    [ -z "$(left)" ]
}
job "$anna" removejob tsp && job "$anna" die
status=$?
wait_for 90 nothing_left # the agent removes its folder after the controller has ended, or a minute after its connection broke
check_equal "... and ends, with its agent" "0 " "$status $(left)"
finish
