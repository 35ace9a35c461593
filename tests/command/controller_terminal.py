# SPDX-License-Identifier: MIT
"""controller_terminal.py DPM: a session with the controller on a pseudo-terminal: completion, history, lines that come by
themselves, ^C, a controller that is killed and another one that attaches, and ^D. Prints the checks that failed."""
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


user = Terminal("--session", "typed")
user.until("dpm> ")
user.type("newj\tsort\r", "job sort created: number 1, filter default", "dpm> ")
user.type("setfl\tso\tall\r", "flags of job sort: all", "dpm> ")
user.type("add sort localhost /bin/sh -c 'echo one; read x; echo got $x; exit 7'\r", "process sh created", "dpm> ")
user.type("startjob sort\r")
user.all_of(": started", ": one")  # output comes when it comes
user.type("job", "job")  # a line that is not complete stays while others come
user.type("s sort\r", "running", "dpm> ")
user.type("wait sort\r", "wait sort")
user.interrupt("interrupted: 1 processes of job sort run")
user.until("dpm> ")
second = Terminal("--attach", "--session", "typed")
second.until(f"session typed has a controller already: process {user.pid}; end it first")
if second.ended() != 1:
    print("a session that has a controller: the exit status is not 1")
user.type("die\r", "1 process is active", "dpm> ")
user.type("\x1b[A\x1b[A\x1b[A\r", "running", "dpm> ")  # history: jobs sort
user.type("die\r", "1 process is active", "dpm> ")  # another command was between
os.kill(user.pid, signal.SIGKILL)
user.ended()

other = Terminal("--session", "typed")
other.until("the session typed has jobs already: dpm --attach goes on")
if other.ended() != 1:
    print("a session that has jobs: the exit status is not 1")

again = Terminal("--attach", "--session", "typed")
again.until("dpm> ")
again.type("jobs sort\r", "running", "dpm> ")
again.type("input sort sh\r", "input> ")
again.type("word\r")
again.all_of("got word", "ended: exit status 7")
again.type(".\r", "dpm> ")
again.type("jobs sort\r", "killed", "dpm> ")
again.type("removejob sort\r", "sh@", ": removed", "job sort removed", "dpm> ")
again.type("\x04")
if again.ended() != 0:
    print("the end of a session: the exit status is not 0")
