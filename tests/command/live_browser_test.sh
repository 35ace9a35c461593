#!/bin/sh
# SPDX-License-Identifier: MIT
# live_browser_test.sh BUILD_FOLDER: the page of dpm live in Chromium: playback, choices, keyboard, a connection that is cut, hostile
# names, many processes, axe's rules for accessibility (live_browser.mjs). Only in ./dev test --all, as browser_test.sh.
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
long_ones || skip_all "only in ./dev test --all"
need_programs chromium node npm
. "$here/meter.sh"
. "$here/sample.sh"
. "$here/browser_modules.sh"

# sees CASE OPERAND...: the browser finds nothing wrong.
sees() {
    timeout 3000 node "$here/live_browser.mjs" "$modules" "$(command -v chromium)" "$dpm" "$@" > said 2>&1
    check_equal "$1: it ends" 0 $?
    check_equal "... nothing is wrong" "" "$(cat said)"
}

mkdir site
/usr/bin/python3 "$here/live_site.py" "$build" "$PWD/site" 60 || exit 1
sees site site/web1 site/app1 site/db1
sees cut site/web1 site/app1 site/db1
sees hidden site/web1 site/app1 site/db1

# ---- a recording that grows: a message for each line ----

mkfifo lines
cat > messages.py << 'END'
import os, socket
one, other = socket.socketpair()
if os.fork() == 0:
    one.close()
    while other.recv(1):
        pass
    os._exit(0)
other.close()
with open("lines") as lines:
    for line in lines:
        one.send(b"x")
END
"$dpm" run --meter ptrace -o grows.trace -- /usr/bin/python3 messages.py > run.out 2> run.err &
run=$!
wait_for 60 test -s grows.trace/control
sees grows grows.trace lines
wait $run

# ---- a view of a monitor that runs ----

HOME=$scratch
export HOME
unset XDG_STATE_HOME
called=shown-$$
cp "$build/tests/programs/queue-manager" "$scratch/$called"
cat > full.view << 'EOF_'
ATTRIBUTE DEFINITION FOR OBJECT Queue
    size: queue.q_size;
    AT "queue_changed";
END ATTRIBUTE DEF
VIEW DEF Full (size: Queue.size)
    ACTIVE WHEN Queue.size >= 15;
    CORRECT TO WITHIN 600 S;
    NOTIFY COMMAND "cat >> commanded" WITHIN 600 MS;
END VIEW DEF
EOF_
mkfifo orders
"$dpm" run --meter ptrace -o views.trace -- "./$called" --log log < orders > run.out 2> run.err &
run=$!
"$dpm" view --object Queue=$called run full.view > view.out 2> view.err &
monitor=$!
exec 9> orders
wait_for 60 test -s views.trace/control
sees views views.trace orders
exec 9>&-
kill $monitor
wait $monitor
wait $run

# ---- names ----

name='<img src=x>&"'
/usr/bin/python3 - "$here" "$build" "$PWD" "$name" << 'END'
import sys
here, build, folder, name = sys.argv[1:]
sys.path.insert(0, here + "/../stories")
import tell
long = "<script>alert(1)</script>" + "'\\\"><b>" * 25
quoted = name.replace('"', '\\"')
lines = [f'process client launched named "{quoted}"', f'process server pid 200 command "{long}"', "tcp c: client > server older ports 40000,80"]
for turn in range(5):
    lines += ["client sends 10 on c", "server receives on c", "server computes 100ms", "server sends 20 on c", "client receives on c"]
tell.write_traces(build, list(enumerate(lines, 1)), folder)
END
sees names trace "$name"

# ---- a process that makes no record for seconds ----

mkdir quiet
/usr/bin/python3 - "$here" "$build" "$PWD" << 'END'
import sys
here, build, folder = sys.argv[1:]
sys.path.insert(0, here + "/../stories")
import tell
lines = ["process client launched", "process server pid 200", "tcp c: client > server older ports 40000,80", "client sends 10 on c", "server receives on c", "server computes 20s",
         "server sends 20 on c", "client receives on c", "client ends"]
tell.write_traces(build, list(enumerate(lines, 1)), folder + "/quiet")
END
sees silent quiet/trace

# ---- many ----

for count in 200 5000; do
    mkdir many
    "$build/bench/generate" --records 100000 --processes $count --paths $count many/a many/b > out
    sees many many
    rm -rf many
done
finish
