#!/bin/sh
# SPDX-License-Identifier: MIT
# hosts_ends_test.sh BUILD_FOLDER: ends that dpm run --host did not ask for: an agent that is killed and whose folder is gone, so
# that another one knows nothing; a process that ends by another signal than the one that it was passed; and what is said of a
# host's meter at the end.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs nats-server
dpm=$(realpath "$dpm")
traced=$(realpath "$1/tests/programs/traced")
. "$(dirname "$0")/local_hosts.sh"
cd "$scratch" || exit 1
trap ': > "$scratch/enough"; end_local_hosts; rm -rf "$scratch"' EXIT

# on OPTION...: dpm run on these hosts, in the background, with its output in out and err; its number in $run.
on() {
    : > out
    : > err
    timeout 100 "$dpm" run --rsh "$scratch/rsh" --remote-dpm "$dpm" --kinds pipe --flags exec,termination "$@" < /dev/null > out 2> err &
    run=$!
}

# agent_of HOST: the number of its agent's process
agent_of() {
    find /proc/[0-9]*/fd/2 -maxdepth 0 -lname "$scratch/state/$1/*/log" 2> find.err | cut -d / -f 3
}

cat > works.sh << 'END'
echo begun
until [ -e enough ]; do sleep 0.05; done
END
on -o gone --host here:"sh works.sh" --host there:"sh works.sh"
# shellcheck disable=SC2317 # called by wait_for
both_begun() {
    [ "$(grep -c ': begun$' out)" = 2 ]
}
check "processes of two hosts run" wait_for 60 both_begun
killed=$(agent_of there)
rm -rf state/there # before another agent comes
kill -9 "$killed"
check "an agent that was killed, and left nothing, is noticed" wait_for 60 \
    grep -q '^dpm: there: the recording ended: its agent ended, and what it had is gone$' err
: > enough
wait $run
check_equal "... nothing waits for its process, and the run fails" 255 $?
check "... and its last records are known to be missing" grep -q '^dpm: .* lost: unknown on there' err

cat > aborts.sh << 'END'
trap 'kill -ABRT $$' TERM
echo begun
while :; do sleep 0.05; done
END
on -o aborted --host here:"sh aborts.sh"
check "a process runs" wait_for 60 grep -q begun out
pkill -TERM -P $run dpm
wait $run
check_equal "a process that ends by another signal than the one that was passed: that is said" "134 1" \
    "$? $(grep -c '^dpm: here: sh was killed by signal 6 (' err)"
rm enough
on -o ended --host here:"sh works.sh"
check "another one runs" wait_for 60 grep -q begun out
pkill -TERM -P $run dpm
wait $run
check_equal "... one that ends by that signal has done as asked" "143 0" "$? $(grep -c 'killed by signal' err)"

export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # a traced process cannot trace itself
on -o missed --meter ptrace --host here:"$traced tracer"
wait $run
check_equal "what a host's meter could not record is said, once" "0 1" \
    "$? $(grep -c '^dpm: here: traced\[.*called ptrace: the kernel refuses' err)"
finish
