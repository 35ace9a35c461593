# SPDX-License-Identifier: MIT
"""controller_terminal.py DPM: a session with the controller on a pseudo-terminal: completion, history, lines that come by
themselves, ^C, a controller that is killed and another one that attaches, and ^D. Prints the checks that failed."""
import os
import signal
import sys

from controller_pty import DPM, Terminal


def agent_of(machine):
    """The process of the agent on a machine, which is a folder (controller_test.sh)."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as name, open(f"/proc/{pid}/environ", "rb") as environment:
                if name.read() == "dpm-agent\n" and f"XDG_STATE_HOME={os.getcwd()}/{machine}\0".encode() in environment.read():
                    return int(pid)
        except (OSError, UnicodeDecodeError):
            pass
    return 0


user = Terminal("--session", "typed")
user.until("dpm> ")
user.type("newj\tsort\r", "job sort created: number 1, filter default", "dpm> ")
user.type("setfl\tso\tall\r", "flags of job sort: all", "dpm> ")
user.type("add sort localhost /bin/sh -c 'echo one; read x; echo got $x; exit 7'\r", "process sh created", "dpm> ")
user.type("startjob sort\r")
user.all_of(": started", ": one")  # output comes when it comes
user.type("job", "job")  # a line that is not complete stays while others come
user.type("s sort\r", "running", "dpm> ")
user.type("wait sort\r", "wait sort", "still running: 1 of 1, ")
user.interrupt("interrupted: 1 process of job sort is still running")
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
other.until("the session typed has jobs already: dpm --session typed --attach goes on")
if other.ended() != 1:
    print("a session that has jobs: the exit status is not 1")

again = Terminal("--attach", "--session", "typed", "--rsh", "./rsh", "--remote-dpm", DPM)
again.until("dpm> ")
again.type("jobs sort\r", "running", "dpm> ")
again.type("input sort sh\r", "input> ")
again.type("word\r")
again.all_of("got word", "ended: exit status 7")
again.type(".\r", "dpm> ")
again.type("jobs sort\r", "killed", "dpm> ")
again.type("removejob sort\r", "sh@", ": removed", "job sort removed", "dpm> ")

# a machine that cannot be reached at first
again.type("newjob late\r", "job late created", "dpm> ")
again.type("add late late sleep 300\r", "dpm: late: the remote shell ended with exit status 255", "dpm> ")
with open("late.up", "w", encoding="ascii"):
    pass
again.type("add late late sleep 300\r", "process sleep created on late", "dpm> ")

# ^C while its agent does not answer: then it does, and the state is the true one
os.kill(agent_of("late"), signal.SIGSTOP)
again.type("startjob late\r", "startjob late")
again.interrupt("sleep@late: not started: interrupted; it may happen yet")
os.kill(agent_of("late"), signal.SIGCONT)
again.until("dpm> ")
again.type("jobs late\r", "running", "late", "dpm> ")
again.type("stopjob late\r", "sleep@late: stopped", "dpm> ")
again.type("removejob late\r", "job late removed", "dpm> ")
again.type("\x04")
if again.ended() != 0:
    print("the end of a session: the exit status is not 0")
