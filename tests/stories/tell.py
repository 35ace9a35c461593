#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tell.py BUILD FILE.story...: tests of analyses and displays. Each case of a file is a story (story.py), the commands
that read its traces, and what these must say. TAP on standard output.

     == the answer is late because the server sleeps

     | client  ask ---.          .--- answered
     | server          '-- 40 ms -'

     process client launched
     ...
     $ dpm why trace
     says: 40.0 ms timer
     never: disk
     $ dpm why --json trace
     jq: .spent_on_ns.timer == 40e6

The trace is the folder `trace`; if machines have names, each has a trace of its own name. `dpm` and the programs of this folder are in
the PATH. A command's output and its messages are one text, in which blanks and the ends of lines do not count:

     says: TEXT     is in it; "says" of one command come in this order
     never: TEXT    is not in it
     like: REGEX    is somewhere in it; a blank may be the end of a line, "." may not
     first: TEXT    the text of the first finding, or line after "What was found", contains it
     jq: FILTER     is true for the output; near(A; B) is true if they differ by at most 1 %
     is: TEXT       this and nothing else
     exits: N       with this status; otherwise 0

A story may be one line, `as before`: that of the case before it. Or `recorded NAME`: a recording of a real program that was reduced to what the case is about. Its
records are in recorded/NAME.txt (`text-trace --of`), with the command that made it.

DPM_STORY=WORDS runs only cases whose names contain it, and keeps the folder and what the commands say.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from story import Story, StoryError  # noqa: E402

JQ_WORDS = "def near($a; $b): ($a - $b | fabs) <= 0.01 * ($b | fabs); "
EXPECTED = ("says", "never", "like", "jq", "is", "exits", "first")


def squeezed(text):
    return " ".join(text.split())


class Case:
    def __init__(self, name):
        self.name, self.story, self.commands = name, [], []  # commands: [number, text, [(kind, text)]]


def read_cases(file):
    cases, case = [], None
    for number, line in enumerate(open(file, encoding="utf-8"), 1):
        text = line.strip()
        kind = text.split(":", 1)[0]
        if text.startswith("== "):
            case = Case(text[3:])
            cases.append(case)
        elif not text or text[0] in "#|":
            continue
        elif case is None:
            raise StoryError(f"line {number}: no line \"== NAME\" before")
        elif text.startswith("$ "):
            case.commands.append([number, text[2:], []])
        elif kind in EXPECTED and ":" in text:
            if not case.commands:
                raise StoryError(f"line {number}: no command before")
            case.commands[-1][2].append((kind, text.split(":", 1)[1].strip()))
        elif case.commands and line[0].isspace() and case.commands[-1][2]:
            kind, before = case.commands[-1][2].pop()  # a longer text goes on
            case.commands[-1][2].append((kind, before + " " + text))
        elif case.commands and line[0].isspace():
            case.commands[-1][1] += " " + text
        elif text == "as before" and len(cases) > 1:
            case.story = cases[-2].story
        elif case.commands:
            raise StoryError(f"line {number}: a story comes before its commands")
        else:
            case.story.append((number, text))
    return cases


def write_trace(build, trace, wall_offset, text):
    with open(trace + ".txt", "w", encoding="utf-8") as file:
        file.write(text)
    made = subprocess.run([os.path.join(build, "tests/programs/text-trace"), trace, str(wall_offset)], input=text, text=True,
                          capture_output=True, check=False)
    if made.returncode != 0:
        line = re.search(r"line (\d+)", made.stderr)
        raise StoryError(f"{made.stderr.strip()} ({text.splitlines()[int(line[1]) - 1] if line else ''})")


def write_traces(build, lines, folder):
    if lines and lines[0][1].startswith("recorded "):
        here = os.path.dirname(os.path.abspath(__file__))
        text = open(os.path.join(here, "recorded", lines[0][1].split()[1] + ".txt"), encoding="utf-8").read()
        write_trace(build, os.path.join(folder, "trace"), re.search(r"^# wall-offset (-?\d+)", text, re.M)[1], text)
        return
    story = Story()
    story.tell(lines)
    for name, machine in story.machines.items():
        trace = os.path.join(folder, "trace" if list(story.machines) == ["vm"] else name)
        write_trace(build, trace, machine.wall_offset(), "\n".join(machine.lines()) + "\n")


def first_finding(text):
    found = re.search(r"What was found\n(.*?)\n\S", text, re.S)
    return squeezed(found[1]) if found else ""


def holds(kind, expected, run, text, at):
    """Whether it does; for `says` also how far the text was read."""
    if kind == "says":
        found = text.find(squeezed(expected), at)
        return found >= 0, found + 1
    if kind == "never":
        return squeezed(expected) not in text, at
    if kind == "like":
        lines = "\n".join(squeezed(line) for line in (run.stdout + run.stderr).splitlines())
        return re.search(expected.replace(" ", r"\s"), lines) is not None, at
    if kind == "is":
        return squeezed(expected) == text, at
    if kind == "first":
        return squeezed(expected) in first_finding(run.stdout), at
    if kind == "exits":
        return run.returncode == int(expected), at
    return subprocess.run(["jq", "-e", JQ_WORDS + expected], input=run.stdout, text=True, capture_output=True, check=False).returncode == 0, at


def run_command(command, folder, environment):
    _, text, expected = command
    run = subprocess.run(["sh", "-c", text], cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                         stdin=subprocess.DEVNULL, timeout=60, check=False)
    said, at, problems = squeezed(run.stdout + run.stderr), 0, []
    if "exits" not in [kind for kind, _ in expected] and run.returncode != 0:
        problems.append(f"$ {text}: exit status {run.returncode}")
    for kind, what in expected:
        ok, at = holds(kind, what, run, said, at)
        if not ok:
            problems.append(f"$ {text}: not {kind}: {what}")
    return problems, run.stdout + run.stderr


def tell(build, case, folder):
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "PATH": ":".join([build, here, os.environ["PATH"]])}
    environment.pop("COLUMNS", None)
    problems = []
    try:
        write_traces(build, case.story, folder)
        for command in case.commands:
            found, said = run_command(command, folder, environment)
            problems += found
            if "DPM_STORY" in os.environ:
                print(f"# $ {command[1]}\n{said}")
            elif found:
                problems += said.splitlines()[:40]
    except StoryError as error:
        problems.append(str(error))
    if not case.commands:
        problems.append("it has no command")
    return problems


def main():
    build, files = os.path.abspath(sys.argv[1]), sys.argv[2:]
    wanted, count, failed = os.environ.get("DPM_STORY"), 0, 0
    for file in files:
        about = os.path.basename(file).removesuffix(".story")
        for case in read_cases(file):
            if wanted and wanted not in case.name:
                continue
            count += 1
            with tempfile.TemporaryDirectory() as folder:
                if wanted:
                    folder = tempfile.mkdtemp(prefix="story.")
                    print(f"# {folder}")
                problems = tell(build, case, folder)
            failed += bool(problems)
            print(f"{'not ok' if problems else 'ok'} {count} - {about}: {case.name}", flush=True)
            for line in problems:
                print(f"# {line}")
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
