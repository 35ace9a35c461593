# SPDX-License-Identifier: MIT
"""interrupted.py COMMAND...: runs the command with its standard error on a terminal. Prints whether it showed how far it is, what
stands on the terminal at the end, and what a shell's $? would be."""
import os
import pty
import subprocess
import sys

terminal, other = pty.openpty()
command = subprocess.Popen(sys.argv[1:], stderr=other, stdout=subprocess.DEVNULL,
                           env={**os.environ, "TERM": "xterm"})
os.close(other)
printed = b""
try:
    while piece := os.read(terminal, 65536):
        printed += piece
except OSError:
    pass  # the command has closed it
status = command.wait()
print("with progress" if b"reading: " in printed else "without progress")
# each line as it stands after what removes it
for line in printed.decode().replace("\r\n", "\n").strip("\n").split("\n"):
    print(line.split("\r\x1b[K")[-1])
print(128 - status if status < 0 else status)
