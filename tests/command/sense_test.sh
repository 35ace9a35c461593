#!/bin/sh
# SPDX-License-Identifier: MIT
# sense_test.sh BUILD_FOLDER: `dpm view probe` and `dpm view sense`: what they report of a program that logs each change of
# its variables must be what it has logged; and nginx's own counters must be those that its status page shows.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
. "$here/meter.sh"
. "$here/sample.sh"
[ "$(id -u)" = 0 ] || skip_all "must be root to place sensors"
need_meter
cd "$scratch" || exit 1
programs=$(realpath "$(dirname "$dpm")")/tests/programs
source=$here/../programs/sensed.c
# line_of MARK: the number of the line with this mark
line_of() {
    grep -n "LINE $1" "$source" | head -n 1 | cut -d : -f 1
}

# ---- the program ----

# begin PROGRAM: starts it; $sensed is its process
begin() {
    rm -f orders log
    mkfifo orders
    "$1" < orders > log 2>&1 &
    sensed=$!
    exec 3> orders
    wait_for 60 grep -q '^ready' log
}

end() {
    exec 3>&-
    wait "$sensed" 2> /dev/null
}
trap 'exec 3>&-; [ -z "$sensing" ] || kill "$sensing" 2> /dev/null; wait; rm -rf "$scratch"' EXIT
sensing=

# last_value: what queue_size is, as the program has reported
last_value() {
    sed -n 's/^[ct][a-z]* \(-*[0-9][0-9]*\)$/\1/p' log | tail -n 1
}

done_count=0
# order TEXT: lets it do something, and waits until it has
is_done() {
    [ "$(grep -c '^done' log)" -ge "$done_count" ]
}
order() {
    done_count=$(($(grep -c '^done' log) + 1))
    echo "$1" >&3
    wait_for 60 is_done
}

# sense ARGUMENT...: begins to sense, into the files seen and said
sense() {
    rm -f seen said
    "$dpm" view sense --json "$@" > seen 2> said 3>&- &
    sensing=$!
    wait_for 60 is_on_or_over
}
is_on_or_over() {
    grep -q 'the sensor is on' said || ! kill -0 "$sensing" 2> /dev/null
}

# stop: ends it; everything that was reported is in `seen`
stop() {
    kill -INT "$sensing" || cat said
    wait "$sensing"
    status=$?
    sensing=
    return $status
}

levels=2
! long_ones || levels='2 0'
for level in $levels; do
    begin "$programs/sensed-$level"
    what="compiled with -O$level"
    order "change 7"
    sense "$sensed" "sensed.c:$(line_of return)" queue_size before
    order "change 100"
    check "$what: sensing ends cleanly" stop
    order "change 7"
    grep '^change' log | sed -n '8,107s/change //p' > truth
    check_equal "... at a line: each change once, in order, while it is on" "$(cat truth)" "$(jq '.values[0]' seen)"
    check_equal "... a local variable: the value before" "$(grep '^change' log | sed -n '7,106s/change //p')" "$(jq '.values[1]' seen)"
    check_equal "... in order of time" true "$(jq -s '[.[].time] | . == sort' seen)"
    check "... and counts" grep -q '100 times at the place: 100 printed, 0 refused by --when, 0 unchanged, 0 lost' said

    sense "$sensed" sensed:changed arg1 arg2
    order "change 5"
    check "... at a USDT probe, which is inlined twice" stop
    check_equal "... its arguments" "$(grep '^change' log | tail -n 5 | sed 's/change //')" "$(jq '.values[0]' seen)"
    check_equal "... and those of the change" '[1000,1000,1000,1000,-2000]' "$(jq -sc '[.[].values[1]]' seen)"

    before=$(last_value)
    sense --when "sensor.value1 >= $((before + 3))" "$sensed" "sensed.c:$(line_of return)" queue_size
    order "change 5"
    check "... with a condition" stop
    # 1 2 3 4 2 above: three, four, and the first that is below again
    check_equal "... what it accepts, and the first value after it" "$((before + 3)) $((before + 4)) $((before + 2))" \
        "$(jq '.values[0]' seen | paste -sd ' ')"
    check "... the others are counted" grep -q '5 times at the place: 3 printed, 2 refused' said

    if long_ones; then # sensor_test.c does the same in one process
        sense "$sensed" enqueue queue_size amount 'queue - queues' 'why == 0' arg2
        order "change 5"
        check "... at a function" stop
        check_equal "... its arguments" '[1,0,1,1][1,0,1,1][1,0,1,1][1,0,1,1][-2,0,1,4294967294]' \
            "$(jq -c '.values[1:5]' seen | tr -d '\n')"

        sense --changes "$sensed" "sensed.c:$(line_of return)" queue_size
        order "threads 4 500"
        check "... in several threads" stop
        check_equal "... each time" 2000 "$(sed -n 's/.* \([0-9]*\) times at the place.*/\1/p' said)"
        check_equal "... the last value" "$(sed -n 's/^threads //p' log | tail -n 1)" "$(jq -s '[.[].values[0]] | max' seen)"

        sense --count 3 "$sensed" "sensed.c:$(line_of return)" queue_size
        order "change 100"
        wait "$sensing"
        sensing=
        check_equal "... up to a number of lines" 3 "$(wc -l < seen)"
        grep 'at the place' said | grep -o '[0-9][0-9]*' > counts
        check "... the counts add up" awk 'NR == 1 { hits = $1 } NR > 1 { sum += $1 } END { exit hits == 0 || sum != hits }' counts
    fi

    runs "$what: a probe" "$dpm" view probe --json "$sensed" queue_size only_here limit 'queues[1].head + current->tail' \
        'current->first->end - current->first->begin' 'current->name' 'current->load' 'nothing->head' \
        '*(unsigned long *)&limit'
    check_equal "... reads what is there" "$(last_value),-123456789012,24,59,750,\"second queue\",2.5,null,24" \
        "$(jq -c .value out | paste -sd ,)"
    fails "... an unknown name" 1 "expression:1:1: process $sensed has no variable 'queue_sise'; did you mean 'queue_size'?" \
        "$dpm" view probe "$sensed" queue_sise
    fails "... a static variable of another function's place" 1 '.*has no variable .amount.' "$dpm" view probe "$sensed" amount
    fails "... a line without code" 1 '.*sensed.c:1 has no code; the next line that has is' \
        "$dpm" view sense "$sensed" sensed.c:1 queue_size
    end
done

# ---- static variables and functions of the same name, without debug information ----

mkfifo twins_orders
"$programs/twins" < twins_orders > twins.out &
twins=$!
exec 4> twins_orders
wait_for 60 grep -q '^100 200' twins.out
fails "several files have this variable" 1 \
    "expression:1:9: 2 files have a variable 'counter', and without debug information nothing tells which is meant; use an address: " \
    "$dpm" view probe "$twins" '*(int *)counter'
grep -o '\*(int \*)0x[0-9a-f]*' err > addresses
runs "... each by its address" "$dpm" view probe --json "$twins" "$(sed -n 1p addresses)" "$(sed -n 2p addresses)"
check_equal "... has its own value" '100 200' "$(jq .value out | sort | paste -sd ' ')"
sense "$twins" count arg1
echo >&4
wait_for 60 grep -q '^101 202' twins.out
check "... functions: sensing ends cleanly" stop
check_equal "... both are sensed" '1 2' "$(jq '.values[0]' seen | paste -sd ' ')"
exec 4>&-
wait "$twins"

# ---- the end of the program ----

begin "$programs/sensed-2"
sense "$sensed" enqueue queue_size
order "change 3"
end
wait "$sensing"
check_equal "the program ends: so does sensing" 0 $?
sensing=
check_equal "... with all that came before" 3 "$(wc -l < seen)"

begin "$programs/sensed-2"
sense "$sensed" enqueue queue_size
echo execute >&3
wait "$sensing"
check_equal "a process that executes another program: sensing fails" 1 $?
sensing=
check "... and says so" grep -q "process $sensed executes another program now" said
end

# ---- the variable itself ----

begin "$programs/sensed-2"
sense "$sensed" - queue_size
if grep -q 'hardware watchpoints do not work on this machine' said; then
    wait $sensing
    sensing=
    skip "a variable itself" "hardware watchpoints do not work here"
else
    order "change 10"
    order "same 10"
    order kernel
    order "threads 2 10"
    check "a variable itself" stop
    check_equal "... each change once, in order, and no store of the same value" "$(sed -n 's/^change //p' log)" \
        "$(jq '.values[0]' seen | head -n 10)"
    # the kernel may store it byte by byte
    check "... by the kernel, too" sh -c 'jq ".values[0]" seen | sed -n 11,14p | grep -qx 4711'
    check_equal "... also in threads that are created later" "$(sed -n 's/^threads //p' log)" "$(jq '.values[0]' seen | tail -n 1)"
fi
end

# ---- rights ----

begin "$programs/sensed-2"
cp "$dpm" dpm-copy
chmod 755 . dpm-copy
fails "another user may not look" 1 ".*reading its memory needs the right to ptrace it" \
    setpriv --reuid 65534 --regid 65534 --clear-groups ./dpm-copy view probe "$sensed" queue_size
end
fails "a process that is none" 1 '.*there is no such process' "$dpm" view probe 4194304 queue_size
fails "what is no process" 2 "view: 'redis': give the id of a process" "$dpm" view probe redis queue_size

# ---- a program without debug information ----

if command -v nginx > /dev/null && command -v curl > /dev/null; then
    port=$(free_port)
    cat > nginx.conf << CONF
daemon off;
worker_processes 1;
pid $scratch/nginx.pid;
error_log $scratch/error.log;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $scratch/body;
    proxy_temp_path $scratch/proxy;
    fastcgi_temp_path $scratch/fastcgi;
    uwsgi_temp_path $scratch/uwsgi;
    scgi_temp_path $scratch/scgi;
    server { listen 127.0.0.1:$port; location / { stub_status; } }
}
CONF
    nginx -e error.log -c "$scratch/nginx.conf" 2> nginx.err 3>&- &
    server=$!
    status_page() {
        curl -s "http://127.0.0.1:$port/" > status
    }
    wait_for 60 status_page
    status_page
    status_page
    status_page
    runs "nginx's own counters" "$dpm" view probe --json "$server" '**(unsigned long **)&ngx_stat_accepted' \
        '**(unsigned long **)&ngx_stat_requests' '*(long *)&ngx_process == 1'
    check_equal "... are those of its status page" "$(sed -n '3s/^ \([0-9]*\) [0-9]* \([0-9]*\) /\1 \2/p' status)" \
        "$(jq .value out | head -n 2 | paste -sd ' ')"
    fails "... a variable without a type" 1 '.*there is no debug information for ngx_stat_active; give its type by a cast' \
        "$dpm" view probe "$server" ngx_stat_active
    fails "... near names are symbols" 1 ".*did you mean 'ngx_stat_active'?" "$dpm" view probe "$server" ngx_stat_actve
    kill "$server"
    wait "$server"
else
    skip "nginx's own counters" "nginx or curl is not installed"
fi

finish
