# SPDX-License-Identifier: MIT
"""interrupted.py COMMAND...: runs the command with its standard error on a terminal, presses Ctrl-C once it shows how far it
is, and prints what stands on the terminal at the end, and what a shell's $? would be. Prints "too quick" if it has ended
before that."""
import os
import pty
import signal
import subprocess
import sys

terminal, other = pty.openpty()
command = subprocess.Popen(sys.argv[1:], stderr=other, stdout=subprocess.DEVNULL,
                           env={**os.environ, "TERM": "xterm"})
os.close(other)
printed = b""
interrupted = False
try:
    while piece := os.read(terminal, 65536):
        printed += piece
        if b"reading: " in printed and not interrupted:
            command.send_signal(signal.SIGINT)
            interrupted = True
except OSError:
    pass  # the command has closed it
status = command.wait()
if not interrupted:
    print("too quick")
else:
    # each line as it stands after what removes it
    for line in printed.decode().replace("\r\n", "\n").strip("\n").split("\n"):
        print(line.split("\r\x1b[K")[-1])
    print(128 - status if status < 0 else status)
