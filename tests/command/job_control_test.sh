#!/bin/sh
# SPDX-License-Identifier: MIT
# job_control_test.sh BUILD_FOLDER: in a shell on a terminal a metered command stops and continues as it does without
# dpm, whatever stops it.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_any_meter
need_programs python3 bash
tests=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 1

# Works until it has been stopped and continued; if its argument says that Ctrl-Z has no effect, until it reads a line.
cat > worker.py << 'END'
import signal, sys, time
continued = []
signal.signal(signal.SIGTSTP, getattr(signal, sys.argv[1]))
signal.signal(signal.SIGCONT, lambda *_: continued.append(True))
print("READY", flush=True)
if sys.argv[1] == "SIG_DFL":
    while not continued:
        time.sleep(0.05)
else:
    sys.stdin.readline()
print("WORKED", "stopped" if continued else "throughout", flush=True)
END
# Reads keys like an editor: z stops itself alone, q ends it.
cat > editor.py << 'END'
import os, signal, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
print("READY", end="\r\n", flush=True)
while (key := os.read(0, 1)) != b"q":
    if key == b"z":
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        os.kill(os.getpid(), signal.SIGTSTP)
        tty.setraw(0)
        os.write(1, b"BACK\r\n")
termios.tcsetattr(0, termios.TCSADRAIN, before)
END

# on_terminal KEYS WORDS COMMAND...: which of these words appear, on one line.
on_terminal() {
    keys=$1 words=$2
    shift 2
    rm -rf job.trace
    python3 "$tests/job_control.py" "$keys" "$*" | grep -av "^Stopped " | grep -aoE "$words|Stopped" | tr '\n' ' '
}

for way in nothing $meter ptrace; do
    run="$dpm run --meter $way --kinds pipe --flags exec,termination -o job.trace --"
    [ "$way" = nothing ] && run=
    check_equal "metered by $way: Ctrl-Z stops a command, fg lets it go on" "Stopped WORKED stopped " \
        "$(on_terminal 'READY:^Z Stopped:fg! WORKED: bash-:exit!' 'WORKED [a-z]*' "$run" python3 worker.py SIG_DFL)"
    check_equal "... not one that ignores it" "WORKED throughout " \
        "$(on_terminal 'READY:^Z ^Z:! WORKED: bash-:exit!' 'WORKED [a-z]*' "$run" python3 worker.py SIG_IGN)"
    check_equal "... and who stops himself alone gives the terminal back" "Stopped SHELL BACK " \
        "$(on_terminal 'READY:z Stopped:echo_SH""ELL! SHELL:fg! BACK:q bash-:exit!' 'SHELL|BACK' "$run" python3 editor.py)"
done
finish
