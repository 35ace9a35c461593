#!/bin/sh
# SPDX-License-Identifier: MIT
# rights_test.sh BUILD_FOLDER: a user whose dpm has the file capabilities that dpm check advises meters what ptrace(2) would let
# that user trace, and nothing else.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
[ "$(id -u)" = 0 ] || skip_all "must be root to become another user"
need_meter
need_programs cc jq setcap setpriv
chmod 755 "$scratch"
cd "$scratch" || exit 1
cp "$dpm" .
setcap cap_bpf,cap_perfmon+ep dpm 2> err || skip_all "setcap: $(cat err)"
mkdir recordings
chmod 777 recordings

cat > nobody << 'END'
#!/bin/sh
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
END
cat > dpm-by-nobody << 'END'
#!/bin/sh
exec ./nobody ./dpm "$@"
END
chmod 755 nobody dpm-by-nobody

# Only messages through pipes matter: few hooks are loaded, which takes less time.
few="--flags send,receive --kinds pipe"

# by_nobody ARGUMENT...: dpm with its capabilities, run by nobody.
by_nobody() {
    ./nobody ./dpm "$@" > out 2> err
}

./nobody ./dpm run --meter kernel -o recordings/first -- true > out 2> err || skip_all "file capabilities are not enough here: $(head -n 1 err)"

# exchange [FOREVER]: sends itself 20 messages through a pipe; with an argument, 10 in a second until it is ended, and prints a
# line for each. Its exit status is 0 if it has gained privilege.
cat > exchange.c << 'END_OF_C'
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int ends[2];
    char byte = 0;

    (void)arguments;
    if (pipe(ends) < 0)
        return 2;
    for (int i = 0; i < 20 || count > 1; i++) {
        if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
            return 2;
        if (count > 1 && (write(1, "\n", 1) != 1 || usleep(100000) < 0))
            return 2;
    }
    return geteuid() == getuid() && getegid() == getgid() && prctl(PR_GET_DUMPABLE) == 1;
}
END_OF_C
cc -O1 -o exchange exchange.c || exit 1
cp exchange by-user && chmod 4755 by-user
cp exchange by-group && chgrp 12 by-group && chmod 2755 by-group
cp exchange by-capability && setcap cap_net_raw+ep by-capability
cp exchange unreadable && chmod 711 unreadable

# ---- what is acquired ----

# background COMMAND...: runs until it is ended; its pid is $pid, its output in background.PID. Returns when it has become what the command ends with.
background() {
    # shellcheck disable=SC2016 # for the inner shell
    sh -c 'exec "$@" > background.$$ 2>&1' sh "$@" &
    pid=$!
    wait_for 30 grep -Eqx 'exchange|by-user|by-capability|unreadable' "/proc/$pid/comm"
}

# end: ends what runs in the background.
end() {
    kill "$pid"
    wait "$pid" 2> wait.err
}

refusal="dpm: cannot meter process PID: it belongs to another user, or has more rights than you; run dpm as root, e.g. with sudo"

# is_refused NAME COMMAND...
is_refused() {
    refused_name=$1
    shift
    rm -rf recordings/refused
    background "$@"
    by_nobody acquire -o recordings/refused $few --duration 0.2 --pid "$pid"
    check_equal "$refused_name is refused, with what, why and what to do" "1 $(echo "$refusal" | sed "s/PID/$pid/")" \
        "$? $(grep -v 'UDP is not metered' err)"
    end
}

is_refused "root's process" ./exchange forever
is_refused "one of another group" setpriv --reuid 65534 --regid 12 --clear-groups ./exchange forever
is_refused "one that has gained a capability" ./nobody ./by-capability forever
is_refused "one whose program the user may not read" ./nobody sh -c 'exec ./unreadable forever'
if long_ones; then
    is_refused "one that has gained root's rights" ./nobody ./by-user forever
    is_refused "one whose capabilities were given to it" ./nobody --inh-caps +net_raw --ambient-caps +net_raw ./exchange forever
else
    skip "one that has gained root's rights, or was given capabilities" "takes long: only with ./dev test --all"
fi

# has_exchanged LINES: whether the process in the background has printed more.
has_exchanged() {
    [ "$(wc -l < "background.$pid")" -gt "$1" ]
}

# acquire_with DPM OPTION...: until the process in the background has sent at least once.
acquire_with() {
    own_dpm=$dpm
    dpm=$1
    shift
    rm -rf recordings/own
    take_over -o recordings/own $few "$@"
    wait_for 30 has_exchanged $(($(wc -l < "background.$pid") + 1))
    let_go
    dpm=$own_dpm
}

# own_is_metered NAME OPTION...: the process in the background is metered.
own_is_metered() {
    own_name=$1
    shift
    acquire_with ./dpm-by-nobody "$@"
    "$dpm" dump --json recordings/own > own.json 2> dump.err
    check "$own_name is metered" jq -e -s --argjson pid "$pid" '[.[] | select(.event == "SEND" and .pid == $pid)] | length > 0' own.json
}

background ./exchange forever
roots=$pid
background ./nobody ./exchange forever
own_is_metered "a process of the user" --pid "$pid"
own_is_metered "... also by its name, which root's process has, too," --name exchange
check_equal "... and that one is left, which is said" "dpm: note: 1 process of other users, or with more rights than you, is not metered; run dpm as root to meter it" \
    "$(grep note: err)"
check_equal "... and not among those that are named as metered" "dpm: metering 1 process since TIME: exchange[$pid]" \
    "$(grep '^dpm: metering' err | sed 's/ since [0-9:.]*[0-9]/ since TIME/')"
own_is_metered "... also among all" --all
check "... and nobody else's is" jq -e -s 'all(.[] | select(.event == "STREAM"); .user == 65534)' own.json
end

# has_left COUNT: whether it has said that often that another user's process is not metered.
has_left() {
    [ "$(grep -c '^dpm: note: 1 process of other users' err)" = "$1" ]
}
background ./nobody ./exchange forever
own=$pid
own_dpm=$dpm
dpm=./dpm-by-nobody
take_over -o recordings/later $few --name exchange
background ./exchange forever
check "another user's process that starts later is left, which is said" wait_for 30 has_left 2
later=$pid
background ./nobody ./exchange forever
check "one of the user is taken" wait_for 30 grep -q "^dpm: metering one more process: exchange\[$pid\]" err
check "... and the other one is not mentioned again" has_left 2
end
let_go
dpm=$own_dpm
for pid in "$later" "$own"; do end; done
by_nobody acquire -o recordings/none $few --duration 0.2 --name exchange
check "a name that only others' processes have is refused" grep -q 'cannot meter any of the chosen processes: they belong to other users' err
if unshare -U true 2> err; then
    background ./nobody unshare -Ur ./exchange forever
    own_is_metered "a process in the user's own user namespace" --pid "$pid"
    end
fi
pid=$roots
acquire_with "$dpm" --pid "$pid"
check "root meters any" sh -c "'$dpm' dump recordings/own | grep -q SEND"
end

# ---- what it executes ----

# One recording: each such program, with one before and behind it that is metered, and a pipe between metered processes and
# one that has gained privilege.
cp "$(command -v cat)" cat-by-user && chmod 4755 cat-by-user
programs="by-user by-capability unreadable"
if long_ones; then
    programs="$programs by-group"
else
    skip "a set-group-ID program" "takes long: only with ./dev test --all"
fi
# shellcheck disable=SC2016,SC2086 # for the inner shell; a word for each
by_nobody run --meter kernel --kinds pipe -o recordings/run -- sh -c '
    ./exchange
    for program in "$@"; do
        sh -c "echo \"$program is \$\$\"; exec ./$program"
        echo "$program gained: $?"
        ./exchange
    done
    for i in 1 2 3 4 5; do echo $i; sleep 0.3; done | ./cat-by-user | cat' sh $programs
"$dpm" dump --json recordings/run > run.json 2> dump.err
for program in $programs; do
    check_equal "$program: it gains its privilege as usual" "$program gained: 0" "$(grep "^$program gained: " out)"
    check "... its last record is the EXEC" jq -e -s --argjson pid "$(sed -n "s/^$program is //p" out)" '
        [.[] | select(.pid == $pid)] | (map(select(.event == "EXEC" and .left)) | length == 1) and
            (.[-1] | .event == "EXEC" and .left) and all(.[]; .event != "SEND" or .bytes > 1)' run.json
done
count=$(echo $programs | wc -w)
check_equal "what is executed before and behind each is metered" $(((count + 1) * 20)) \
    "$(jq -s '[.[] | select(.event == "SEND" and .name == "exchange")] | length' run.json)"
check "dpm says that they are not metered, and which is the first" \
    grep -q "^dpm: $((count + 1)) processes executed a program that gains privilege (the first: by-user), and are not metered" err
# (a skipped hook may count as lost)
check "... and the recording is complete" sh -c "'$dpm' dump recordings/run | grep -q 'END .* lost, complete'"
check_equal "a pipe to such a program: its messages arrive" "12345" "$(grep -x '[1-5]' out | tr -d '\n')"
check "... what its neighbours write and read is recorded, at the right positions" jq -e -s '
    ([.[] | select(.event == "SEND" and .name == "sh") | .offset] == [0, 2, 4, 6, 8]) and
    ([.[] | select(.event == "RECEIVE" and .name == "cat" and .bytes > 0) | .bytes] | add == 10)' run.json

rm -rf recordings/run
by_nobody run --meter kernel --kinds pipe --flags send,exec -o recordings/run -- ./by-user
check "the command itself: nothing is recorded, and dpm says so" grep -q '1 process executed a program that gains privilege (by-user)' err
rm -rf recordings/run
"$dpm" run --meter kernel --kinds pipe --flags send,exec -o recordings/run -- setpriv --reuid 65534 --regid 65534 --clear-groups ./by-user > out 2> err
check "root meters such programs, too" sh -c "'$dpm' dump recordings/run | grep -q '^[^ ]* [^ ]* *by-user.*SEND'"
check_not "... without a word" grep -q privilege err

finish
