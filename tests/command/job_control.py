# SPDX-License-Identifier: MIT
"""job_control.py KEYS COMMAND: runs the command in an interactive bash on a terminal of its own, and prints all that
appears there. KEYS are `seconds:text`, each typed that long after the command has printed READY; in a text ^Z is Ctrl-Z,
! a newline and _ a blank. Ends with bash, or after 15 seconds."""
import os
import pty
import select
import signal
import sys
import time

keys = [key.split(":", 1) for key in sys.argv[1].split()]
for key in keys:
    key[0] = float(key[0])
    for typed, meant in (("^Z", "\x1a"), ("!", "\n"), ("_", " ")):
        key[1] = key[1].replace(typed, meant)
child, terminal = pty.fork()
if child == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
os.write(terminal, sys.argv[2].encode() + b"\n")
printed = b""
begin = time.monotonic()
ready = None
while time.monotonic() - begin < 15:
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # bash has ended
            break
        printed += piece
    if ready is None and b"READY\r\n" in printed:
        ready = time.monotonic()
    while ready is not None and keys and time.monotonic() - ready > keys[0][0]:
        os.write(terminal, keys.pop(0)[1].encode())
os.kill(child, signal.SIGHUP)
os.close(terminal)
os.waitpid(child, 0)
sys.stdout.write(printed.decode(errors="replace").replace("\r", ""))
