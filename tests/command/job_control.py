# SPDX-License-Identifier: MIT
"""job_control.py KEYS COMMAND: runs the command in an interactive bash on a terminal of its own, and prints all that
appears there. KEYS are `word:text`, each typed when the word has appeared after that of the one before; in a text ^Z is
Ctrl-Z, ! a newline and _ a blank. Ends with bash, or after 60 seconds."""
import os
import pty
import select
import signal
import sys
import time

keys = [key.split(":", 1) for key in sys.argv[1].split()]
for key in keys:
    for typed, meant in (("^Z", "\x1a"), ("!", "\n"), ("_", " ")):
        key[1] = key[1].replace(typed, meant)
child, terminal = pty.fork()
if child == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
os.write(terminal, sys.argv[2].encode() + b"\n")
printed = b""
begin = time.monotonic()
found = 0
while time.monotonic() - begin < 60:
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # bash has ended
            break
        printed += piece
    while keys and (at := printed.find(keys[0][0].encode(), found)) >= 0:
        found = at + len(keys[0][0])
        os.write(terminal, keys.pop(0)[1].encode())
os.kill(child, signal.SIGHUP)
os.close(terminal)
os.waitpid(child, 0)
sys.stdout.write(printed.decode(errors="replace").replace("\r", ""))
