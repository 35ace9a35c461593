# SPDX-License-Identifier: MIT
"""controller_pty.py: the controller on a pseudo-terminal, for tests: sys.argv[1] is dpm."""
import os
import pty
import re
import select
import signal
import sys
import time

DPM = sys.argv[1]


class Terminal:
    def __init__(self, *arguments):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(DPM, [DPM, *arguments])
        self.text = ""

    def read(self):
        """Whether there may be more."""
        if not select.select([self.file], [], [], 0.2)[0]:
            return True
        try:
            piece = os.read(self.file, 65536)
        except OSError:
            return False
        self.text += re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", piece.decode(errors="replace"))
        return bool(piece)

    def until(self, wanted):
        """Reads until this text has come; what came before it is forgotten."""
        end = time.monotonic() + 30
        while wanted not in self.text:
            if time.monotonic() > end or not self.read():
                print("waited in vain for:", wanted, "- there is:", self.text)
                sys.exit(1)
        self.text = self.text[self.text.index(wanted) + len(wanted):]

    def all_of(self, *wanted):
        """The same for several texts, in any order."""
        end = time.monotonic() + 30
        while not all(each in self.text for each in wanted):
            if time.monotonic() > end or not self.read():
                print("waited in vain for:", wanted, "- there is:", self.text)
                sys.exit(1)
        self.text = self.text[max(self.text.index(each) + len(each) for each in wanted):]

    def interrupt(self, wanted):
        """Types ^C now and then until this text has come: the command may not have begun yet. (Before it has been read, it would be
        thrown away, as terminals do at ^C.)"""
        end = time.monotonic() + 30
        while wanted not in self.text and time.monotonic() < end:
            pause = time.monotonic() + 2
            while time.monotonic() < pause:
                self.read()
            os.write(self.file, b"\x03")
            self.read()
        self.until(wanted)

    def type(self, text, *wanted):
        os.write(self.file, text.encode())
        for each in wanted:
            self.until(each)

    def ended(self):
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
