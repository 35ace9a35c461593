# SPDX-License-Identifier: MIT
"""switched.py KIND FROM UNTIL ... PID TIME: reads `dpm dump --matched --json` of a trace that `switching` has made. Checks it against the sizes of
its messages: where each record's bytes lie, which sends a receive took them of, and that no sequence number is missing.
PID left at TIME, and nothing of KIND was recorded from then until then, in ns. Prints what it has checked, or what is wrong."""
import bisect
import collections
import json
import sys

MOST = 200000


def ends_of(size):
    """Offsets at which messages end, from 0 on."""
    ends = [0]
    for k in range(MOST):
        ends.append(ends[-1] + size(k))
    return ends


SENT = ends_of(lambda k: 1 + k * 7919 % 2**32 % 1000)
TAKEN = ends_of(lambda k: 1 + k * 104729 % 2**32 % 800)


def lies_in_one(ends, first, end):
    index = bisect.bisect_right(ends, first) - 1
    return ends[index] <= first < end <= ends[index + 1]


def is_one(ends, first, end):
    index = bisect.bisect_left(ends, first)
    return ends[index] == first and ends[index + 1] == end


said = sys.argv[1].split()
left_at = int(said.pop())
left = int(said.pop())
switched_off = {kind: (int(first), int(last)) for kind, first, last in zip(*[iter(said)] * 3)}
start, sends, next_sequence = {}, {}, {}
counts = collections.Counter()
wrong = []
for line in sys.stdin:
    record = json.loads(line)
    event = record["event"]
    if event == "PATH":
        start[record["path"]] = record["start_out"], record["start_in"]
    if event == "FLAGS":
        counts["FLAGS"] += 1
    if record.get("pid") == left and record["time_ns"] > left_at:
        wrong.append(f"left, but: {line}")
    if event == "LOST":
        wrong.append(f"lost: {line}")
    if "sequence" not in record:
        continue
    first, last = switched_off.get(record.get("kind"), (0, 0))
    if first + 1000000 < record["time_ns"] < last:
        wrong.append(f"its kind is off, but: {line}")
    stream = record["stream"]
    if record["sequence"] != next_sequence.get(stream, 0):
        wrong.append(f"sequence {record['sequence']} after {next_sequence.get(stream, 0)}: {line}")
    next_sequence[stream] = record["sequence"] + 1
    if event == "SEND" and record["kind"] in ("tcp", "pipe", "unix-stream"):
        first = (record["offset"] - start[record["path"]][0]) % 2**32
        sends[stream, record["sequence"]] = first, first + record["bytes"], record["kind"]
        counts["SEND"] += 1
        if not is_one(SENT, first, first + record["bytes"]):
            wrong.append(f"no message: {line}")
    if event == "RECEIVE" and record["bytes"] > 0 and record["kind"] in ("tcp", "pipe", "unix-stream"):
        first = (record["offset"] - start[record["path"]][1]) % 2**32
        end = first + record["bytes"]
        counts["RECEIVE"] += 1
        if record["kind"] != "pipe" and not lies_in_one(TAKEN, first, end):
            wrong.append(f"not taken so: {line}")
        for edge in (edge for edge in record.get("edges", []) if "bytes" in edge and edge["kind"] != "creation"):
            send = sends.get((edge["stream"], edge["sequence"]))
            counts["edge"] += 1
            if send is None or send[2] != record["kind"] or send[0] >= end or send[1] <= first:
                wrong.append(f"wrong edge {send}: {line}")
        counts["matched"] += record.get("rest", {}).get("bytes", 0) == 0
        if record.get("rest", {}).get("why") not in (None, "unselected"):
            wrong.append(f"rest: {line}")
print(*(f"{count} {what}" for what, count in sorted(counts.items())))
for line in wrong[:5]:
    print(line.strip()[:400])
print(len(wrong), "wrong")
