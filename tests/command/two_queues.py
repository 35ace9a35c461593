#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""two_queues.py LOG LOG LINES WINDOW CLOCKS: what a view said of two queues that are both longer than 24, against their own accounts.

WINDOW: how far values may be apart, CLOCKS: how far clocks are, ms. Prints: true intervals that are longer than the latter, those
that were missed (neither active nor unknown), activations that were false (at no moment so near was one of them long), and per
cent of the time that was unknown.
"""
import json
import sys

LIMIT = 24


def long_spans(name, certain):
    """When a queue was long for certain, or may have been: its account has the time before and after each change."""
    spans, begin, before = [], None, 0
    for line in open(name, encoding="ascii"):
        before, after, length = map(int, line.split())
        if length > LIMIT and begin is None:
            begin = after if certain else before
        elif length <= LIMIT and begin is not None:
            spans.append((begin, before if certain else after))
            begin = None
    if begin is not None:
        spans.append((begin, before))
    return [span for span in spans if span[1] > span[0]]


def common(some, others):
    both = [(max(a[0], b[0]), min(a[1], b[1])) for a in some for b in others]
    return [span for span in both if span[1] > span[0]]


def said_spans(lines, last):
    """When the view was active, and when it was unknown."""
    spans, state, begin = {"active": [], "unknown": []}, None, 0
    for line in lines:
        if line["change"] == "changed":
            continue
        if state in spans:
            spans[state].append((begin, line["time"]))
        state, begin = line["change"], line["time"]
    if state in spans:
        spans[state].append((begin, max(last, begin)))
    return spans["active"], spans["unknown"]


def meets(spans, begin, end):
    return any(span[0] < end and span[1] > begin for span in spans)


def main():
    clocks = float(sys.argv[5]) * 1e6
    window = float(sys.argv[4]) * 1e6 + clocks
    times = [int(line.split()[0]) for name in sys.argv[1:3] for line in open(name, encoding="ascii")]
    lines = [json.loads(line) for line in open(sys.argv[3], encoding="utf-8")]
    active, unknown = said_spans([line for line in lines if line.get("view") == "Both"], max(times))
    sure = [span for span in common(long_spans(sys.argv[1], True), long_spans(sys.argv[2], True)) if span[1] - span[0] > clocks]
    missed = [span for span in sure if not meets(active, *span) and not meets(unknown, *span)]
    possible = [long_spans(name, False) for name in sys.argv[1:3]]
    false = [begin for begin, _ in active if not all(meets(spans, begin - window, begin + window) for spans in possible)]
    share = sum(end - begin for begin, end in unknown) * 100 / (max(times) - min(times))
    print(f"{len(sure)} true, {len(missed)} missed, {len(false)} false, {share:.1f} % unknown")


main()
