#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live_account.py BUILD FILE.story... | BUILD --traces FOLDER: of the traces of each story, the lines of `dpm stats --interval --json` against
`dpm stats`. TAP on standard output, a line for each file.

     line 2 of 7, 100 ms    its lists are those of `dpm stats --to 200ms`, but for messages that are not matched yet
     lines 1 to 7           what processes, pairs and connections did in all intervals adds up to `dpm stats`, and so
                            do their waits
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from story import StoryError  # noqa: E402
from tell import read_cases, write_traces  # noqa: E402

# Each costs a process for each case: without --all, one early and one late.
CUTS = range(1, 7) if os.environ.get("DPM_LONG") else (2, 5)
LISTS = ("processes", "pairs", "paths", "failures")


def dpm(build, arguments, folder):
    run = subprocess.run([os.path.join(build, "dpm"), "stats", *arguments], cwd=folder, capture_output=True, text=True,
                         timeout=120, check=False, env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"})
    if run.returncode != 0:
        raise StoryError(f"dpm stats {' '.join(arguments)}: {run.stderr.strip()}")
    return [json.loads(line) for line in run.stdout.replace("\n\"", "\"").replace("[\n", "[").replace(",\n", ",").splitlines()]


def without_cpu(rows):
    """CPU time is not compared at a cut: --to spreads it."""
    return sorted(json.dumps({key: value for key, value in row.items() if not key.startswith("cpu") and key not in (
        "scheduled", "end_ns", "lifetime_ns", "network", "queue", "times", "begin_ns")}, sort_keys=True) for row in rows)


def counts(rows, ends):
    """What a row has sent and received, by its names."""
    return sorted(json.dumps([row.get("sent"), row.get("received")], sort_keys=True) for row in rows) if ends else sorted(
        json.dumps([row["name"], row["pid"], row["sent"]["messages"], row["sent"]["bytes"], row["received"]["messages"],
                    row["received"]["bytes"]]) for row in rows)


def messages(rows):
    return sum(row["sent"]["messages"] + row["received"]["messages"] for row in rows)


def add_up(lines, table, members):
    total = {}
    for line in lines:
        for row in line["interval"][table] + [line["interval"].get("other_" + table, {})]:
            for name in members:
                outer, _, inner = name.partition(".")
                value = row.get(outer, {}).get(inner, 0) if inner else row.get(outer, 0)
                total[name] = total.get(name, 0) + value
    return total


def waits(lines):
    """What was said of waits, with what was corrected; and what the last line says of all."""
    def rows(line):
        return line["interval"]["processes"] + [row for row in [line["interval"].get("other_processes")] if row]
    said = sum(sum(row["waits_ns"].values()) + row["correction_ns"] for line in lines for row in rows(line))
    last = sum(sum(row["waits_so_far_ns"].values()) for row in rows(lines[-1]))
    return said, last


def check(build, folder, traces):
    whole = dpm(build, ["--json", *traces], folder)[0]
    length = max(whole["trace"]["duration_ns"], 1)
    every = length // 7 + 13
    lines = dpm(build, ["--interval", f"{every / 1e6:.6f}ms", "--json", *traces], folder)
    problems = []
    for name in LISTS:
        # times between machines depend on what was known of their clocks when they were read
        one, other = [counts(rows, name != "processes") if len(traces) > 1 else rows for rows in (lines[-1][name], whole[name][:200])]
        if one != other:
            problems.append(f"{name} of the last line")
    sums = add_up(lines, "processes", ["sent.messages", "sent.bytes", "received.messages", "cpu_ns"])
    rows = whole["processes"]
    expected = {"sent.messages": sum(row["sent"]["messages"] for row in rows),
                "sent.bytes": sum(row["sent"]["bytes"] for row in rows),
                "received.messages": sum(row["received"]["messages"] for row in rows),
                "cpu_ns": sum(row["cpu_ns"] for row in rows)}
    if sums != expected:
        problems.append(f"processes add up to {sums}, not {expected}")
    said, last = waits(lines)
    if said != last:
        problems.append(f"waits add up to {said}, not {last}")
    compared = 0
    for number, line in enumerate(lines[:-1], 1):
        if len(whole["processes"]) > 200 or number not in CUTS:
            continue
        cut = dpm(build, ["--to", f"{number * every / 1e6:.6f}ms", "--json", *traces], folder)[0]
        compared += 1
        if line["interval"]["not_known_yet"] > 0:
            if abs(messages(line["processes"]) - messages(cut["processes"])) > line["interval"]["not_known_yet"]:
                problems.append(f"line {number}: messages of processes, not those of --to {number * every}ns")
            continue
        if counts(line["processes"], False) != counts(cut["processes"], False):
            problems.append(f"line {number}: processes, not those of --to {number * every}ns")
        if counts(line["paths"], True) != counts(cut["paths"], True):
            problems.append(f"line {number}: connections, not those of --to {number * every}ns")
    return problems, compared


def check_folder(build, folder):
    """Of the traces in a folder, as one recording."""
    traces = sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))
    problems, compared = check(build, folder, traces)
    print(f"{len(traces)} traces, {compared} cuts")
    for line in problems:
        print(line)
    return bool(problems) or compared == 0


def main():
    build, files = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if files[0] == "--traces":
        return check_folder(build, files[1])
    failed = 0
    for number, file in enumerate(files, 1):
        about, problems, cases, compared = os.path.basename(file).removesuffix(".story"), [], 0, 0
        for case in read_cases(file):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    write_traces(build, case.story, folder)
                    traces = sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))
                    found, cuts = check(build, folder, traces)
                except StoryError as error:
                    found, cuts = [str(error)], 0
            cases, compared = cases + 1, compared + cuts
            problems += [f"{case.name}: {problem}" for problem in found]
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - snapshots of {about}: {cases} stories, {compared} cuts", flush=True)
        for line in problems:
            print(f"# {line}")
    print(f"1..{len(files)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
