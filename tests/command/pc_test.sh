#!/bin/sh
# SPDX-License-Identifier: MIT
# pc_test.sh BUILD_FOLDER: program counters lead to the functions that made the calls. The truth is a program that knows
# its own callers (callers.c), in several builds; the linker's addresses; and elfutils' unwinder, on real servers.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
command -v cc > /dev/null || skip_all "there is no C compiler"
tests=$(cd "$(dirname "$0")" && pwd)
build=$1
cd "$scratch" || exit 1
port=$(free_port)

# ---- a program that knows its callers ----

. "$tests/callers.sh"
strip -o stripped pie

# found_of TRACE FIELD: "EVENT BYTES FIELD" of each message.
found_of() {
    "$dpm" dump --json --type send,receive "$1" |
        jq -r "\"\\(.event) \\(.bytes) \\($2)\""
}

# wrong_names NAME: expected callers that are missing. Unbuffered fprintf has more frames in the C library than the
# meter always follows: the result may be unknown, but not wrong.
wrong_names() {
    found_of "$1.trace" .procedure > "$1.found"
    grep -v fprintf "$1.expected" | grep -vxFf "$1.found"
    grep fprintf "$1.expected" | while read -r event bytes function; do
        found_of "$1.trace" 'if .library then "library" else .procedure end' |
            grep -xE "$event $bytes (library|$function)" > /dev/null || echo "$event $bytes $function"
    done
}

programs=pie
! long_ones || programs='pie fixed no-plt frames static'
for program in $programs; do
    timeout 60 "$dpm" run -o $program.trace -- ./$program > $program.expected 2> err
    check_equal "$program: runs to its end" 0 $?
    check "$program: has callers" test "$(wc -l < $program.expected)" -ge 40
    check_equal "$program: every caller has its name" "" "$(wrong_names $program)"
done

# A stripped program, those that are replaced, and real servers take long, and seldom find a fault.
long_ones || finish

# A stripped program has no names; the linker knows the functions at the offsets.
timeout 60 "$dpm" run -o stripped.trace -- ./stripped > stripped.expected 2> err
found_of stripped.trace '.procedure // "none"' | grep -v none > stripped.named
check_equal "stripped: no names are made up" "" "$(grep -v "library$" stripped.named | grep caller)"
grep -vE "fprintf" stripped.expected | while read -r event bytes function; do
    offset=$("$dpm" dump --json --type send,receive stripped.trace |
        jq "select(.event == \"$event\" and .bytes == $bytes) | .procedure_offset - 1")
    [ "$(addr2line -f -e pie "$(printf %x "$offset")" | head -n 1)" = "$function" ] ||
        echo "$event $bytes $function $offset"
done > stripped.wrong
check_equal "stripped: offsets lead to the callers" "" "$(cat stripped.wrong)"
check "stripped: the line shows the file and the offset" \
    sh -c "'$dpm' dump --type send stripped.trace | grep -q ' in stripped+0x[0-9a-f]*$'"
check "the line shows the caller" \
    sh -c "'$dpm' dump --type send pie.trace | grep -q ' in caller_of_send+0x[0-9a-f]*$'"

# The program counter itself is the return address, wherever the kernel loaded the program.
"$dpm" dump --json --type image pie.trace | jq -s '.[-1].load_address' > load
text=$("$dpm" dump --json --type module pie.trace | jq -r 'select(.file | endswith("/pie")).text')
pc=$("$dpm" dump --json --type send pie.trace | jq 'select(.procedure == "caller_of_send").pc' |
    head -n 1)
check_equal "the pc is the address of the call, moved to where the program lies" caller_of_send \
    "$(addr2line -f -e pie "$(printf %x $((pc - $(cat load) + text - 1)))" | head -n 1)"

# ---- names stay right ----

cp pie replaced
mkfifo line
timeout 60 "$dpm" run -o replaced.trace -- ./replaced wait < line > replaced.expected 2> err &
pid=$!
exec 3> line
# Before its first call, and while names are not recorded yet.
wait_for 30 sh -c "'$dpm' dump --type exec replaced.trace 2> told | grep -q EXEC"
cp -r replaced.trace cut.trace
cp /bin/true new
mv new replaced
echo >&3
exec 3>&-
wait $pid
check_equal "a program replaced while it runs keeps its names" "" "$(wrong_names replaced)"
mkdir elsewhere
mv replaced.trace elsewhere/
rm replaced
check_equal "the trace alone has the names" "$(cat replaced.found)" \
    "$(found_of elsewhere/replaced.trace .procedure)"
# Its control file as it was while the program ran.
cp elsewhere/replaced.trace/data cut.trace/data
check_equal "a cut trace has no names, but still the program counters" 0 \
    "$("$dpm" dump --json --type send cut.trace 2> err |
        jq -s '[.[] | select(.procedure != null or .pc == null)] | length')"
check "they are shown" \
    sh -c "'$dpm' dump --type send cut.trace 2> err | grep -qE ' in 0x[0-9a-f]+$'"
check_equal "two traces have the names of both" \
    "$( (found_of pie.trace .procedure; found_of fixed.trace .procedure) | sort)" \
    "$("$dpm" dump --json --type send,receive pie.trace fixed.trace |
        jq -r '"\(.event) \(.bytes) \(.procedure)"' | sort)"
timeout 60 "$dpm" run --flags all,-pc -o without.trace -- ./pie > /dev/null 2> err
check_equal "without the flag pc there are none" 0 \
    "$("$dpm" dump --json without.trace |
        jq -s '[.[] | select(.pc != null or .library != null or .event == "MODULE")] | length')"

# Acquired after it was replaced, as by an upgrade, under a name longer than the kernel's limit of 15 characters.
cp pie a-program-of-a-long-name
rm -f line
mkfifo line
./a-program-of-a-long-name wait < line > upgraded.expected &
pid=$!
exec 3> line
# the shell opens the FIFO before it executes the program
wait_for 30 sh -c "readlink /proc/$pid/exe | grep -q '/a-program-of-a-long-name$'"
cp /bin/true new
mv new a-program-of-a-long-name
take_over -o upgraded.trace --name a-program-of-a-long-name
check_equal "a program replaced before is found by its name" "dpm: metering 1 process since TIME: a-program-of-a-[$pid]" "$(first_line err)"
echo >&3
exec 3>&-
wait $pid $acquirer
check_equal "... and its program counters have names, when it was acquired, too" "" "$(wrong_names upgraded)"

# ---- other programs ----

# mostly_in_program NAME TRACE PROCESS: 95 of 100 messages come from the program itself.
mostly_in_program() {
    "$dpm" dump --json --process "$3" "$2" | jq -s '
        [.[] | select(.event == ("SEND", "RECEIVE", "SENDCALL", "RECEIVECALL") and .path != null)] |
        "\(length) \([.[] | select(.pc != null and (.library | not))] | length)"' | tr -d '"' > figures
    read -r all inside < figures
    echo "# $1: $inside of $all"
    check "$1: messages come from the program" test "$all" -ge 10
    check "$1: 95 of 100 lead into the program" test $((inside * 100)) -ge $((all * 95))
}

# traced NAME COMMAND...: starts a program in the background under pc-tracer, which unwinds the stack at each of its
# calls with elfutils, for comparison with its records (compare_unwound). It is acquired while it runs, because only one
# process can trace it; acquired NAME ends that when the program has ended.
traced() {
    traced_name=$1
    shift
    timeout 60 "$build/tests/programs/pc-tracer" --unwind 20 "$traced_name.log" "$@" > "$traced_name.out" 2>&1 &
    tracer=$!
}
# traced_program: the process of that program, once pc-tracer, which is the child of timeout, has created it, and its
# children.
traced_program() {
    parent=$(pgrep -P $tracer) && parent=$(pgrep -P "$parent") && echo "$parent" && { pgrep -P "$parent" || :; }
}
# take_over_traced TRACE: acquires it, but not other processes with the same name.
take_over_traced() {
    # shellcheck disable=SC2046 # one word for each process
    take_over -o "$1" $(traced_program)
}
acquired() {
    wait $tracer
    wait $acquirer
    compare_unwound "$1" "$2"
}
timeout 60 "$dpm" run -o truth.trace --wait --ring 64M -- \
    "$build/tests/truth/truth-program" --seed 7 --log "$(mkdir log && echo log)" > out 2> err
mostly_in_program truth-program truth.trace truth-program

if command -v redis-server > /dev/null; then
    traced redis redis-server --port $port --save "" --appendonly no
    wait_for 30 redis-cli -p $port ping
    take_over_traced redis.trace
    redis-benchmark -p $port -n 500 -c 10 -t set,get,lrange_100 -q > out 2>&1
    redis-cli -p $port shutdown nosave
    acquired redis 500
    mostly_in_program redis redis.trace redis-server
else
    skip "redis" "redis-server is not installed"
fi

if command -v nginx > /dev/null; then
    mkdir web
    chmod 755 "$scratch" web
    echo hello > web/index.html
    cat > nginx.conf << END
daemon off;
pid $scratch/nginx.pid;
error_log $scratch/nginx.log;
worker_processes 1;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $scratch/t1; proxy_temp_path $scratch/t2; fastcgi_temp_path $scratch/t3;
    uwsgi_temp_path $scratch/t4; scgi_temp_path $scratch/t5;
    server { listen 127.0.0.1:$port; root $scratch/web; }
}
END
    get() {
        python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/').read()"
    }
    traced nginx nginx -c "$scratch/nginx.conf" -e "$scratch/nginx.log"
    wait_for 30 get
    take_over_traced nginx.trace
    for _ in 1 2 3 4 5 6 7 8; do
        get
    done
    kill -TERM "$(cat nginx.pid)"
    acquired nginx 30
    mostly_in_program nginx nginx.trace nginx
else
    skip "nginx" "nginx is not installed"
fi

if command -v iperf3 > /dev/null; then
    traced iperf-server iperf3 -s -1 -p $port
    wait_for 30 traced_program
    take_over_traced iperf-server.trace
    wait_for 30 timeout 60 iperf3 -c 127.0.0.1 -p $port -n 100M
    acquired iperf-server 100
    mostly_in_program iperf3 iperf-server.trace iperf3
else
    skip "iperf3" "iperf3 is not installed"
fi

if command -v initdb > /dev/null; then
    mkdir data
    chmod 755 "$scratch"
    chown nobody data
    setpriv --reuid nobody --regid nogroup --clear-groups initdb -D "$scratch/data/db" \
        -A trust > out 2>&1
    ask() {
        psql -h 127.0.0.1 -p $port -U nobody -d postgres -c "$1"
    }
    traced postgres setpriv --reuid nobody --regid nogroup --clear-groups "$(command -v postgres)" \
        -D "$scratch/data/db" -p $port -k "$scratch/data" -c listen_addresses=127.0.0.1
    wait_for 30 ask 'select 1'
    take_over_traced postgres.trace
    for _ in 1 2 3 4 5; do
        ask 'select n from generate_series(1, 3000) as s(n)' > out 2>&1
    done
    kill -INT "$(head -n 1 data/db/postmaster.pid)"
    acquired postgres 50
    mostly_in_program postgres postgres.trace postgres
else
    skip "postgres" "postgres is not installed"
fi
finish
