# SPDX-License-Identifier: MIT
"""on_terminal.py COLUMNS COMMAND...: prints what the command prints on a terminal so wide, without its colours."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

terminal, other = pty.openpty()
fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0))
command = subprocess.Popen(sys.argv[2:], stdout=other)
os.close(other)
printed = b""
try:
    while piece := os.read(terminal, 65536):
        printed += piece
except OSError:
    pass  # the command has closed it
sys.stdout.write(re.sub("\x1b\\[[0-9;]*m", "", printed.decode()).replace("\r\n", "\n"))
sys.exit(command.wait())
