# SPDX-License-Identifier: MIT
"""controller_killed.py DPM ROUNDS SEED: kills controllers (kill -9) within commands, and lets others go on. What they show
is compared with /proc and with what the processes did. ROUNDS 0: at fixed points, where the agent has been asked and has not
answered; else ROUNDS commands at random, each killed at a random moment. Prints what is wrong."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

DPM, ROUNDS, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
JOB = [DPM, "job", "--session", "killed"]
# writes a line, then one for each line that it reads
PROGRAM = ["sh", "-c", "echo begun; while read -r x; do echo got $x; done"]
shown = []  # all that controllers have printed
removed = set()
took = [0.5]  # s: the last command


def wrong(text):
    print(text)
    print("the last lines:", "".join(shown)[-2000:])
    sys.exit(1)


def job(*words, status=0):
    """A command that is not killed."""
    begin_of_it = time.monotonic()
    done = subprocess.run(JOB + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60, check=False)
    shown.append(done.stdout)
    took[0] = time.monotonic() - begin_of_it
    if status is not None and done.returncode != status:
        wrong(f"{words}: exit status {done.returncode}: {done.stdout}")
    return done.stdout


def killed(*words, moment):
    """A command that is killed when moment(), which waits, returns. Returns whether it had succeeded before."""
    with subprocess.Popen(JOB + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        moment(process)
        process.send_signal(signal.SIGKILL)
        shown.append(process.communicate()[0])
        return process.returncode == 0


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def agent():
    """The agent of this test: its environment has our HOME."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if read(f"/proc/{pid}/comm") == "dpm-agent\n" and f"HOME={os.environ['HOME']}\0" in read(f"/proc/{pid}/environ"):
            return int(pid)
    return 0


def truth(pid):
    """new, running, stopped or killed."""
    state = read(f"/proc/{pid}/stat").split(") ")[-1][:1]
    if state in ("", "Z", "X"):
        return "killed"
    if state == "T":
        return "stopped"
    try:
        return "new" if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(DPM) else "running"
    except OSError:  # it has ended since
        return "killed"


def children(of):
    found = set()
    for task in os.listdir(f"/proc/{of}/task"):
        found |= set(map(int, read(f"/proc/{of}/task/{task}/children").split()))
    return {pid for pid in found if truth(pid) != "killed"}


def agrees(pid, state):
    is_now = truth(pid)
    return state == is_now or (state == "stopped" and is_now == "new")


def states():
    """{pid: state}, as a controller shows them; they are those of /proc, and none is missing."""
    until = time.monotonic() + 60
    while True:
        found = {int(pid): state for pid, state in re.findall(r"^(\d+) +(new|running|stopped|killed) ", job("jobs", "j"), re.M)}
        differ = [(pid, state, truth(pid)) for pid, state in found.items() if not agrees(pid, state)]
        missing = children(the_agent) - set(found)
        if not differ and not missing and not removed & set(found):
            return found
        if time.monotonic() > until:
            wrong(f"shown and true states differ: {differ}; not shown: {missing}; shown, but removed: {removed & set(found)}")


def begin():
    job("newjob", "j")
    job("setflags", "j", "fork")
    job("add", "j", "localhost", *PROGRAM)


def end():
    """Everything ends in order, and the processes that began are in the log."""
    job("setflags", "j", "all")
    job("stopjob", "j", status=None)
    job("removejob", "j")
    job("getlog", "default", f"killed-{SEED}.log")
    job("die")
    traces = [os.path.join(f"killed-{SEED}.log", name) for name in os.listdir(f"killed-{SEED}.log")]
    dump = subprocess.run([DPM, "dump", "--json"] + traces, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=True).stdout
    events = [json.loads(line) for line in dump.splitlines()]
    ended = {event["pid"] for event in events if event["event"] == "TERMINATION" and event["pid"] == event["tid"]}
    if not ever <= ended:
        wrong(f"processes that are not in the log with their end: {ever - ended}")


# ---- at fixed points ----

def asked_only(process):
    """The agent stands still, so it does not answer. Whether the command has come that far does not matter."""
    time.sleep(0.25)


def at_fixed_points():
    commands = [["add", "j", "localhost", *PROGRAM], ["startjob", "j"], ["stopjob", "j"], ["removeprocess", "j", "sh.2"]]
    for words in commands:
        os.kill(the_agent, signal.SIGSTOP)
        killed(*words, moment=asked_only)
        os.kill(the_agent, signal.SIGCONT)
        found = states()
        ever.update(pid for pid, state in found.items() if state != "new")
        if words[0] != "removeprocess":
            job(*words)  # done already, or not: both are right
        elif "sh.2" in shown[-1]:
            job(*words)
        states()


# ---- at random ----

def at_random():
    generator = random.Random(SEED)
    number = 0
    for _ in range(ROUNDS):
        found = states()
        ever.update(pid for pid, state in found.items() if truth(pid) in ("running", "stopped"))
        words = generator.choice([["add", "j", "localhost", *PROGRAM], ["startjob", "j"], ["stopjob", "j"],
                                  ["setflags", "j", generator.choice(["send", "-send", "receive"])], ["startjob", "j"],
                                  ["input", "j", "", ""], ["removeprocess", "j", ""]])
        can = [pid for pid, state in found.items() if state == ("running" if words[0] == "input" else "stopped")]
        if words[0] in ("input", "removeprocess"):
            if not can:
                continue
            words[2] = str(generator.choice(can))
        if words[0] == "input":
            number += 1
            words[3] = str(number)
        delay = generator.uniform(0.2, 1.2) * took[0]
        done = killed(*words, moment=lambda process: time.sleep(delay))
        if done and words[0] == "input":
            given[number] = int(words[2])
        if words[0] == "removeprocess":  # it may not have come to its answer
            for each in [each for each, pid in given.items() if pid == int(words[2])]:
                del given[each]
        if done and words[0] == "removeprocess":
            removed.add(int(words[2]))


ever = set()
given = {}  # the number that a process was given: its pid


def unanswered():
    return [number for number in given if f": got {number}\n" not in "".join(shown)]


begin()
the_agent = agent()
if ROUNDS == 0:
    at_fixed_points()
else:
    at_random()
    job("startjob", "j")
    until = time.monotonic() + 60
    states()
    while unanswered() and time.monotonic() < until:
        states()
    for number in unanswered():
        wrong(f"what a process wrote was not shown: got {number}")
end()
