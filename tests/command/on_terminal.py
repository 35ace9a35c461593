# SPDX-License-Identifier: MIT
"""on_terminal.py COLUMNS [--raw] COMMAND...: prints the output of the command on a terminal of this width, without its
colours; with --raw unchanged."""
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
raw = sys.argv[2] == "--raw"
command = subprocess.Popen(sys.argv[3 if raw else 2:], stdout=other)
os.close(other)
printed = b""
try:
    while piece := os.read(terminal, 65536):
        printed += piece
except OSError:
    pass  # the command has closed it
text = printed.decode().replace("\r\n", "\n")
sys.stdout.write(text if raw else re.sub("\x1b\\[[0-9;]*m", "", text))
sys.exit(command.wait())
