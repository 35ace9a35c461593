#!/bin/sh
# SPDX-License-Identifier: MIT
# sense_file_test.sh BUILD_FOLDER: sensors in all processes that execute a program, from the first instruction on: brief
# processes, children, processes that execute it again, and each backend of a database. By counts: nothing is missed, and
# nothing else is recorded.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/sample.sh"
[ "$(id -u)" = 0 ] || skip_all "must be root to place sensors"
need_meter
cd "$scratch" || exit 1
chmod 755 .
program=step$$ # this test may run twice at once, and processes are found by name
cp "$(realpath "$(dirname "$dpm")")/tests/programs/stepping" $program
cp $program other # the same program in another file
sensing=
server=
trap '[ -z "$sensing" ] || kill "$sensing" 2> /dev/null; [ -z "$server" ] || kill -INT "$server"; wait; rm -rf "$scratch"' EXIT

# sense ARGUMENT...: begins to sense, into the files seen and said
is_on_or_over() {
    grep -q 'the sensor is on' said || ! kill -0 "$sensing" 2> /dev/null
}
sense() {
    rm -f seen said
    "$dpm" view sense --json "$@" > seen 2> said 3>&- &
    sensing=$!
    wait_for 60 is_on_or_over
}

# stop: ends it; everything that was reported is in `seen`
stop() {
    kill -INT "$sensing" || cat said
    wait "$sensing"
    status=$?
    sensing=
    return $status
}

# of_each: how many values each process has reported, the fewest first
of_each() {
    jq .pid seen | sort | uniq -c | awk '{ print $1 }' | sort -n | paste -sd ' '
}

# ---- brief processes ----

sense ./$program stepped steps 'lists[2]'
for _ in 1 2 3 4 5 6 7 8 9 10; do
    ./$program 60 0
done
./$program 10 5000 # 50 ms
./other 60 0
check "processes that begin later: sensing ends cleanly" stop
check_equal "... all steps of all of them, and of the right program only" "10 60 60 60 60 60 60 60 60 60 60" "$(of_each)"
seq 60 > truth
check_equal "... with their values, wherever the program is in memory" "$(cat truth)" "$(head -n 60 seen | jq '.values[0]')"
check_equal "... of another process, too" "$(sed 's/$/0/' truth)" "$(sed -n '541,600p' seen | jq '.values[1]')"
check "... and counts" grep -q ' 610 times at the place: 610 printed, 0 refused by --when, 0 unchanged, 0 lost' said

# Each process has its own last value, and its own last truth.
sense --changes ./$program stepped 'steps / 4'
./$program 8 0
./$program 8 0
check "what has changed: cleanly" stop
check_equal "... in each process" "0 1 2 0 1 2" "$(jq '.values[0]' seen | paste -sd ' ')"
sense --when 'sensor.value1 < 3' ./$program stepped steps
./$program 8 0
./$program 8 0
check "a condition: cleanly" stop
check_equal "... what it accepts, and the first value after it, in each process" "1 2 3 1 2 3" "$(jq '.values[0]' seen | paste -sd ' ')"

# ---- fork, exec ----

sense ./$program stepped:return steps
./$program 20 0 fork 4
./$program 30 0 exec
check "children, and programs that are executed again: cleanly" stop
check_equal "... all of their steps" "20 20 20 20 20 60" "$(of_each)"

# ---- what descends from a process that runs ----

mkfifo orders
sh -c 'while read -r order; do sh -c "$order"; done' < orders &
parent=$!
exec 3> orders
sense --under $parent ./$program stepped steps
./$program 7 0
echo "./$program 5 0; ./$program 6 0 exec; (./$program 4 0 & wait)" >&3
./$program 7 0
exec 3>&-
wait $parent
wait_for 60 grep -q 'times at the place' said
wait "$sensing"
sensing=
check_equal "what descends from a process, until that ends" "4 5 12" "$(of_each)"
check "... what does not is counted" grep -q '14 times in processes that do not count' said

# ---- what is refused ----

fails "a library" 1 ".*libc.so.6 is a library: other programs map it, too, and would pay; give the id of a process" \
    "$dpm" view sense "$(ldd ./$program | sed -n 's/.*=> \(.*libc.so[^ ]*\).*/\1/p')" malloc arg1
fails "a variable itself" 1 "a variable itself is watched in one process" "$dpm" view sense ./$program - steps
fails "what is no program" 1 "./said: not a program (ELF)" "$dpm" view sense ./said f arg1
fails "no such function" 1 "program $program has no function 'stepp'; did you mean 'step'?" "$dpm" view sense ./$program stepp arg1
fails "a place that /proc/PID/exe does not have" 1 ".*program $(basename "$(realpath /proc/$$/exe)") has no function 'nowhere'.*" \
    "$dpm" view sense /proc/$$/exe nowhere arg1
fails "--under a process" 2 ".*give its path, as in /proc/$$/exe" "$dpm" view sense --under 1 $$ stepped steps
fails "an ordinary user" 1 "./$program: sensors in all processes that execute a file need root" \
    setpriv --reuid nobody --regid nogroup --clear-groups "$dpm" view sense ./$program stepped steps

# ---- views ----

# view NAME INSTANCE: a view of the steps of an instance
view() {
    cat << EOF_
ATTRIBUTE DEFINITION FOR OBJECT Stepper
    steps: steps;
    AT "stepped";
END ATTRIBUTE DEF
VIEW DEF $1 (steps: $2.steps) ACTIVE WHEN $2.steps > 0; END VIEW DEF
EOF_
}
view Each 'Stepper[*]' > each.view
view Only Stepper > only.view
ln $program renamed # the same file, by another name
mkdir elsewhere
cp $program elsewhere/$program # the same name, of another file

# values FILE: of each row in order, and how often it was active and inactive
values() {
    jq -r 'select(.change) | .row + " " + .change + " " + (.values.steps // "" | tostring)' "$1" | sed 's/^ /only /'
}
ten="for i in 1 2 3 4 5 6 7 8 9 10; do ./$program 60 0; done; ./renamed 60 0; ./other 60 0; ./elsewhere/$program 60 0"
"$dpm" view --json --object Stepper=./$program run each.view -- sh -c "$ten" > lines 2> err
check_equal "a view of all processes: each brief one has all of its values" "$(for _ in 1 2 3 4 5 6 7 8 9 10; do seq 60; done)" \
    "$(values lines | awk '$3 != "inactive" { print $4 }')"
check_equal "... and has been active" 10 "$(values lines | grep -c ' active ')"
check_equal "... none was late, unseen or lost" "0 0 0" "$(jq -r 'select(.end) | .end | "\(.late_starts) \(.unseen) \(.lost)"' lines)"
"$dpm" view --json --object Stepper=./$program run only.view -- sh -c "$ten" > lines 2> err
check_equal "a view of the only process: each in its turn" "$(for _ in 1 2 3 4 5 6 7 8 9 10; do seq 60; done)" \
    "$(values lines | awk '$2 != "inactive" { print $3 }')"
check_equal "... has been active, so those before were inactive" 10 "$(values lines | grep -c ' active ')"
"$dpm" view --json --object Stepper=./$program run only.view -- ./$program 10 5000 > lines 2> err
check_equal "a command of 50 ms" "$(seq 10)" "$(values lines | awk '$2 != "inactive" { print $3 }')"

# A process has the name of the link by which it was executed: the file counts.
cp $program target$$
ln -s target$$ alias$$
"$dpm" view --json --object Stepper=./alias$$ run each.view -- sh -c "./alias$$ 60 0; ./target$$ 30 0; ./elsewhere/$program 60 0" > lines 2> err
check_equal "by a symbolic link: each, whichever name it has" "$(seq 60; seq 30)" "$(values lines | awk '$3 != "inactive" { print $4 }')"
check_equal "... and no other was unseen" "0 0 0" "$(jq -r 'select(.end) | .end | "\(.late_starts) \(.unseen) \(.lost)"' lines)"

# By name, the file is known once a process of it has been found.
./$program 1000000 20000 &
running=$!
"$dpm" view --json run each.view --object Stepper=$program > lines 2> err &
sensing=$!
wait_for 60 grep -q '"row":"'"$program $running" lines
./$program 60 0
./$program 20 0 fork 4
./$program 30 0 exec
sleep 1
kill $running
stop
grep -v "\"$program $running\"" lines > others
# "executes itself again": a new instance
found=$(values others | awk '$3 != "inactive" { print $2 }' | sort | uniq -c | awk '{ print $1 }' | sort -n | paste -sd ' ')
check_equal "by name, beside one that runs: later ones, children, and what is executed again" "20 20 20 20 20 60 60" "$found"
[ "$found" = "20 20 20 20 20 60 60" ] || sed 's/^/# /' others err

# ---- a database: a process for each connection ----

if ! command -v initdb > /dev/null || ! command -v pgbench > /dev/null; then
    skip "a database" "initdb, postgres or pgbench is missing"
    finish
fi
port=$(free_port)
mkdir data
chown nobody data
setpriv --reuid nobody --regid nogroup --clear-groups env LC_ALL=C initdb -D data -A trust -U nobody --no-sync > initdb.out 2>&1
cat >> data/postgresql.conf << CONF
port = $port
listen_addresses = ''
unix_socket_directories = '$scratch/data'
fsync = off
autovacuum = off
CONF
setpriv --reuid nobody --regid nogroup --clear-groups env LC_ALL=C postgres -D data > log 2>&1 &
server=$!
answers() {
    PGUSER=nobody psql -h "$scratch/data" -p "$port" -At -c 'select 1' postgres
}
wait_for 60 answers > answers.out 2>&1
sense --under $server "$(realpath /proc/$server/exe)" postgresql:query__start '(char *)arg1'
echo "SELECT $$;" > one.sql
PGUSER=nobody timeout 60 pgbench -n -C -t 100 -f one.sql -h "$scratch/data" -p "$port" postgres > bench.out 2>&1
check "a database with a process for each connection: cleanly" stop
check_equal "... each statement, of 100 processes" 100 "$(jq "select(.values[0] == \"SELECT $$;\") | .pid" seen | sort -u | wc -l)"
check_equal "... once" 100 "$(jq -r "select(.values[0] == \"SELECT $$;\") | .pid" seen | wc -l)"
cat > asks.view << EOF_
ATTRIBUTE DEFINITION FOR OBJECT Backend
    query: (char *)arg1;
    AT "postgresql:query__start";
END ATTRIBUTE DEF
VIEW DEF Asks (query: Backend[*].query) ACTIVE WHEN Backend[*].query = "SELECT $$;"; END VIEW DEF
EOF_
"$dpm" view --json --object Backend="$(realpath /proc/$server/exe)" run asks.view -- sh -c \
    "sleep 1; PGUSER=nobody timeout 60 pgbench -n -C -t 100 -f one.sql -h '$scratch/data' -p $port postgres > bench.out 2>&1" > lines 2> err
check_equal "... and each makes a view active" "100 of 100" \
    "$(jq -r 'select(.change == "active") | .row' lines | wc -l) of $(jq -r 'select(.change == "active") | .row' lines | sort -u | wc -l)"
finish
